package train

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/torch"
)

var soak = flag.Duration("soak", 0, "have TestSoak train for this long")

// holding is what a process holds at one moment.
type holding struct {
	memory      float64 // bytes in memory that belong to no file
	heap        float64 // bytes of it that Go held when it last collected
	goroutines  float64
	threads     float64
	descriptors float64
}

// TestSoak: what a training holds does not grow with its length. A language model is trained on the built-in sample, with
// a validation every 20 updates and a checkpoint every 40. The last third of the time is set against the second: no more
// goroutines, threads and descriptors, and memory within 1 %.
//
//	go test ./runs/internal/train -run TestSoak -soak 24h -timeout 0 -v
func TestSoak(t *testing.T) {
	if *soak == 0 {
		t.Skip("-soak says how long to train: what a minute hides takes hours to show")
	}
	if *soak < time.Minute {
		t.Fatalf("-soak=%v: it wants a minute at least", *soak)
	}
	settings, err := experiment.Parse(experiment.SpecOf("ptb"), []string{"-preset=sample", "-out=" + t.TempDir(),
		"-threads=1", "-epochs=0", "-steps=1000000000", "-set=model.width=64", "-set=model.hidden=64",
		"-set=train.validate_every=20", "-set=checkpoint.every=40"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(context.Background())
	done := make(chan error, 1)
	go func() {
		var err error
		torch.Do(func() { err = Run(ctx, settings) })
		done <- err
	}()
	began := time.Now()
	var all []holding
	for ticker := time.NewTicker(*soak / 900); time.Since(began) < *soak; {
		select {
		case err := <-done:
			t.Fatalf("training ended after %v: %v", time.Since(began), err)
		case <-ticker.C:
			all = append(all, look(t))
		}
	}
	stop(&command.SignalError{Signal: syscall.SIGTERM})
	if err := <-done; !errors.As(err, new(*command.SignalError)) {
		t.Errorf("training was stopped, and ended with %v", err)
	}
	for _, what := range []struct {
		name   string
		number func(holding) float64
		within float64 // share by which the means may differ; with 0 the medians are equal
	}{
		{"goroutines", func(h holding) float64 { return h.goroutines }, 0},
		{"threads", func(h holding) float64 { return h.threads }, 0},
		{"descriptors", func(h holding) float64 { return h.descriptors }, 0},
		{"bytes of memory", func(h holding) float64 { return h.memory }, 0.01},
		{"bytes of Go's heap", func(h holding) float64 { return h.heap }, 0.1},
	} {
		var numbers []float64
		for _, h := range all {
			numbers = append(numbers, what.number(h))
		}
		first, second, last := thirds(numbers)
		t.Logf("%s: %s, %s, %s", what.name, described(first), described(second), described(last))
		if grew(second, last, what.within) {
			t.Errorf("%s grew from the second third to the last", what.name)
		}
	}
}

// described is the mean, and how far numbers go: the least, the tenth and the ninetieth percentile, and the largest.
func described(numbers []float64) string {
	sorted := slices.Sorted(slices.Values(numbers))
	at := func(p float64) float64 { return stat.Quantile(p, stat.Empirical, sorted, nil) }
	return fmt.Sprintf("%.0f (%.0f, %.0f, %.0f, %.0f)", stat.Mean(numbers, nil), at(0), at(0.1), at(0.9), at(1))
}

func thirds(numbers []float64) (first, second, last []float64) {
	third := len(numbers) / 3
	return numbers[:third], numbers[third : 2*third], numbers[2*third:]
}

// grew says whether the mean rose by more than a share, or, where that is 0, the median at all.
func grew(before, after []float64, share float64) bool {
	if share == 0 {
		return median(after) > median(before)
	}
	return stat.Mean(after, nil) > (1+share)*stat.Mean(before, nil)
}

// TestGrew: what comes and goes is no growth, and what is added now and then is.
func TestGrew(t *testing.T) {
	var level, rising, leaking []float64
	for n := range 900 {
		i := float64(n)
		level = append(level, 100+20*math.Mod(i, 2))
		rising = append(rising, 100+20*math.Mod(i, 2)+i/100)
		leaking = append(leaking, 14+math.Mod(i, 3)+math.Floor(i/300))
	}
	for name, c := range map[string]struct {
		numbers []float64
		share   float64
		want    bool
	}{
		"level": {level, 0.01, false}, "level in the median": {level, 0, false}, "rising": {rising, 0.01, true},
		"rising within bounds": {rising, 0.1, false}, "a leak": {leaking, 0, true},
	} {
		_, second, last := thirds(c.numbers)
		if got := grew(second, last, c.share); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func median(numbers []float64) float64 {
	return slices.Sorted(slices.Values(numbers))[len(numbers)/2]
}

// look looks at this process.
func look(t *testing.T) holding {
	t.Helper()
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	field := func(name string) float64 {
		_, after, _ := strings.Cut(string(status), "\n"+name+":")
		words := strings.Fields(after)
		if len(words) == 0 {
			t.Fatalf("/proc/self/status has no %s", name)
		}
		x, err := strconv.ParseFloat(words[0], 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	return holding{memory: 1024 * field("RssAnon"), heap: float64(sample[0].Value.Uint64()),
		goroutines: float64(runtime.NumGoroutine()), threads: field("Threads"), descriptors: float64(len(open))}
}
