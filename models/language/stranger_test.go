package language_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// A stranger's run folder cannot take all memory of the CPU.
func TestNetworkFarLargerThanItsCheckpoint(t *testing.T) {
	before := torch.LiveHandles()
	words := corpus.NewWords()
	read(t, counting(1, 20, 20), words)
	path := run(t, countConfig, words)
	for _, test := range []struct{ config, want string }{
		{strings.NewReplacer("layers = 1", "layers = 2", "hidden = 24", "hidden = 65536").Replace(countConfig),
			"the parameter rnns.0.module.weight_ih_l0 has shape [96 24], the model needs [262144 24]"},
		{strings.NewReplacer("hidden = 24", "hidden = 24\nlast_hidden = 65536", "width = 24", "width = 65536").Replace(countConfig),
			"the parameter encoder.weight has shape [18 24], the model needs [18 65536]"},
		{`[model]
kind = "gpt"
positions = "rotary"
width = 65536
heads = 1
layers = 1
max_positions = 1048576
`, "the parameter encoder.weight has shape [18 24], the model needs [18 65536]"},
	} {
		if _, err := write(path, test.config); err != nil {
			t.Fatal(err)
		}
		torch.ResetPeakBytes()
		_, err := language.Open(path, language.Options{Device: "cpu", Threads: 1})
		if err == nil || !strings.HasSuffix(err.Error(), test.want) {
			t.Errorf("it is opened with %v", err)
		}
		if peak := torch.PeakBytes(); peak > 64<<20 {
			t.Errorf("it took %d bytes to tell", peak)
		}
	}
	if left := torch.LiveHandles() - before; left != 0 {
		t.Errorf("%d tensors are left", left)
	}
}

// A table of positions is in no checkpoint: one that is far larger is refused before it takes the memory.
func TestPositionsFarLargerThanTheCheckpoint(t *testing.T) {
	before := torch.LiveHandles()
	words := corpus.NewWords()
	read(t, counting(1, 20, 20), words)
	config := func(positions int) string {
		return fmt.Sprintf("[model]\nkind = \"gpt\"\nwidth = 1200\nheads = 1\nlayers = 1\nffn_width = 1\nmax_positions = %d\n",
			positions)
	}
	path := run(t, config(100), words)
	if _, err := write(path, config(1048576)); err != nil {
		t.Fatal(err)
	}
	_, err := language.Open(path, language.Options{Device: "cpu", Threads: 1})
	if !errors.Is(err, torch.ErrOutOfMemory) || !strings.Contains(err.Error(), "far larger than its checkpoint") {
		t.Errorf("it is opened with %v", err)
	}
	if left := torch.LiveHandles() - before; left != 0 {
		t.Errorf("%d tensors are left", left)
	}
}
