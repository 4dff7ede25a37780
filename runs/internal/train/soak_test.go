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

// TestSoak: what a training holds does not grow with its length. A small language model, for many updates a second, is
// trained on the built-in sample, with a validation every 20 updates and a checkpoint every 40. The last third of the
// time is set against the second: no more goroutines and descriptors, one more of the threads that Go's runtime starts,
// and memory within 1 % of what nine looks in ten find. Looks while it validates or saves find a fifth more, and how
// many do is chance.
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
		"-threads=1", "-epochs=0", "-steps=1000000000", "-set=model.width=8", "-set=model.hidden=8",
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
		bound  bound
	}{
		{"goroutines", func(h holding) float64 { return h.goroutines }, bound{at: 0.5}},
		{"threads", func(h holding) float64 { return h.threads }, bound{at: 0.5, more: 1}},
		{"descriptors", func(h holding) float64 { return h.descriptors }, bound{at: 0.5}},
		{"bytes of memory", func(h holding) float64 { return h.memory }, bound{at: 0.1, share: 0.01}},
		{"bytes of Go's heap", func(h holding) float64 { return h.heap }, bound{at: 0.1, share: 0.1}},
	} {
		var numbers []float64
		for _, h := range all {
			numbers = append(numbers, what.number(h))
		}
		first, second, last := thirds(numbers)
		t.Logf("%s: %s, %s, %s", what.name, described(first), described(second), described(last))
		if what.bound.broken(second, last) {
			t.Errorf("%s grew from the second third to the last", what.name)
		}
	}
}

// described is the mean, and how far numbers go: the least, the tenth and the ninetieth percentile, and the largest.
func described(numbers []float64) string {
	at := func(p float64) float64 { return quantile(p, numbers) }
	return fmt.Sprintf("%.0f (%.0f, %.0f, %.0f, %.0f)", stat.Mean(numbers, nil), at(0), at(0.1), at(0.9), at(1))
}

func quantile(p float64, numbers []float64) float64 {
	return stat.Quantile(p, stat.Empirical, slices.Sorted(slices.Values(numbers)), nil)
}

func thirds(numbers []float64) (first, second, last []float64) {
	third := len(numbers) / 3
	return numbers[:third], numbers[third : 2*third], numbers[2*third:]
}

// bound is how far a quantile of what was looked at may rise: by a share of what it was and some more.
type bound struct{ at, share, more float64 }

func (b bound) broken(before, after []float64) bool {
	return quantile(b.at, after) > (1+b.share)*quantile(b.at, before)+b.more
}

// TestGrew: what comes and goes is no growth, and what is added now and then is.
func TestGrew(t *testing.T) {
	var level, busier, rising, leaking []float64
	for n := range 900 {
		i := float64(n)
		level = append(level, 100+20*math.Mod(i, 2))
		busier = append(busier, 100)
		if math.Mod(i, 10) > 8-i/150 {
			busier[n] += 20
		}
		rising = append(rising, 100+20*math.Mod(i, 2)+i/100)
		leaking = append(leaking, 14+math.Mod(i, 3)+math.Floor(i/300))
	}
	for name, c := range map[string]struct {
		numbers []float64
		bound   bound
		want    bool
	}{
		"level":                {level, bound{0.1, 0.01, 0}, false},
		"level in the median":  {level, bound{0.5, 0, 0}, false},
		"more often high":      {busier, bound{0.1, 0.01, 0}, false},
		"rising":               {rising, bound{0.1, 0.01, 0}, true},
		"rising within bounds": {rising, bound{0.1, 0.1, 0}, false},
		"a leak":               {leaking, bound{0.5, 0, 0}, true},
		"one more":             {leaking, bound{0.5, 0, 1}, false},
	} {
		_, second, last := thirds(c.numbers)
		if got := c.bound.broken(second, last); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
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
