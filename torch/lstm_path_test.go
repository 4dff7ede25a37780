package torch_test

import (
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestLSTMPath: which way a layer's steps take, for the sizes of benchmarks, presets,
// evaluation and writing. What each way costs stands in docs/results/speed.md.
func TestLSTMPath(t *testing.T) {
	for _, c := range []struct {
		what           string
		steps, columns int64
		path           string
	}{
		{"lstm_step/ptb, awd-lstm", 70, 20, "panels"},
		{"lstm_step/wikitext2, awd-lstm", 70, 80, "panels"},
		{"mos_step/ptb", 70, 12, "panels"},
		{"wikitext2/mos, a third of its columns", 70, 5, "panels"},
		{"samples and ptb/small", 35, 20, "panels"},
		{"the shortest chunk that is drawn", 5, 20, "panels"},
		{"evaluation of ptb/small", 35, 10, "panels"},
		{"evaluation as published", 70, 1, "thin"},
		{"a generated word", 1, 1, "thin"},
		{"encoder of a translator", 32, 64, "panels"},
		{"the last sentences of an epoch", 17, 2, "thin"},
		{"one word of many", 1, 64, "library"},
		{"three words of many", 3, 64, "library"},
		{"at the border", 4, 4, "panels"},
		{"at the border", 70, 3, "thin"},
	} {
		if got := torch.LSTMPath(c.steps, c.columns); got != c.path {
			t.Errorf("%s: %d steps of %d columns take %s, want %s", c.what, c.steps, c.columns, got, c.path)
		}
	}
}
