package train

import (
	"context"
	"errors"
	"flag"
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

// held is what a process holds at one moment.
type held struct {
	memory      float64 // bytes in memory that belong to no file
	heap        float64 // bytes of it that Go held when it last collected
	goroutines  float64
	threads     float64
	descriptors float64
}

// TestSoak: what a training holds does not grow with its length. A language model is trained on the built-in sample, with a
// validation every 20 updates and a checkpoint every 40. The last third of the time is set against the second: the same
// number of goroutines, threads and descriptors, and memory within 1 %.
func TestSoak(t *testing.T) {
	if *soak == 0 {
		t.Skip("-soak says how long to train: what a minute hides takes hours to show")
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
	var all []held
	for ticker := time.NewTicker(*soak / 900); time.Since(began) < *soak; {
		select {
		case err := <-done:
			t.Fatalf("training ended after %v: %v", time.Since(began), err)
		case <-ticker.C:
			all = append(all, now(t))
		}
	}
	stop(&command.SignalError{Signal: syscall.SIGTERM})
	if err := <-done; !errors.As(err, new(*command.SignalError)) {
		t.Errorf("training was stopped, and ended with %v", err)
	}
	for _, what := range []struct {
		name   string
		number func(held) float64
		within float64 // share by which the means may differ; with 0 the medians are equal
	}{
		{"goroutines", func(h held) float64 { return h.goroutines }, 0},
		{"threads", func(h held) float64 { return h.threads }, 0},
		{"descriptors", func(h held) float64 { return h.descriptors }, 0},
		{"bytes of memory", func(h held) float64 { return h.memory }, 0.01},
		{"bytes of Go's heap", func(h held) float64 { return h.heap }, 0.1},
	} {
		var numbers []float64
		for _, h := range all {
			numbers = append(numbers, what.number(h))
		}
		third := len(numbers) / 3
		first, second, last := numbers[:third], numbers[third:2*third], numbers[2*third:]
		t.Logf("%s: %.0f (%.0f to %.0f), %.0f (%.0f to %.0f), %.0f (%.0f to %.0f)", what.name,
			stat.Mean(first, nil), slices.Min(first), slices.Max(first),
			stat.Mean(second, nil), slices.Min(second), slices.Max(second),
			stat.Mean(last, nil), slices.Min(last), slices.Max(last))
		if grown := stat.Mean(last, nil)/stat.Mean(second, nil) - 1; what.within > 0 && grown > what.within ||
			what.within == 0 && median(last) > median(second) {
			t.Errorf("%s grew by %.2f %% from the second third to the last", what.name, 100*grown)
		}
	}
}

func median(numbers []float64) float64 {
	slices.Sort(numbers)
	return numbers[len(numbers)/2]
}

// now looks at this process.
func now(t *testing.T) held {
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
	return held{memory: 1024 * field("RssAnon"), heap: float64(sample[0].Value.Uint64()),
		goroutines: float64(runtime.NumGoroutine()), threads: field("Threads"), descriptors: float64(len(open))}
}
