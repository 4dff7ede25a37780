package main

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestTrain: each kind of output layer learns a text that repeats itself, and leaves no tensor behind.
func TestTrain(t *testing.T) {
	text := strings.Repeat("the old dog sees a young cat\na cat fears the dog\n", 60)
	for _, method := range []string{"mle", "spectrum+adversarial", "cosreg+zloss", "mos"} {
		torch.Do(func() {
			torch.SetThreads(1)
			before := torch.LiveHandles()
			var out bytes.Buffer
			if err := train(text, method, 150, &out); err != nil {
				t.Fatal(err)
			}
			if left := torch.LiveHandles() - before; left != 0 {
				t.Errorf("%s leaves %d tensors", method, left)
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			_, last, _ := strings.Cut(lines[len(lines)-1], "perplexity ")
			if ppl, err := strconv.ParseFloat(last, 64); err != nil || ppl > 2.5 {
				t.Errorf("%s: %q", method, out.String())
			}
		})
	}
}

// TestRefused: an unknown method and a text that is too short are errors that say so.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ text, method, want string }{
		{strings.Repeat("a b c\n", 50), "spectrm", "did you mean spectrum"},
		{"a b", "mle", "too few"},
	} {
		torch.Do(func() {
			if err := train(c.text, c.method, 1, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", c.method, err)
			}
		})
	}
}
