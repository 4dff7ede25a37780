package language

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// fewWords is a vocabulary of so many words.
func fewWords(n int) *corpus.Words {
	words := corpus.NewWords()
	for i := range n {
		words.ID(string(rune('a' + i)))
	}
	return words
}

// tryModel builds a model and has it learn from a chunk, as an update would.
func tryModel(t *testing.T, name string, c experiment.Config) {
	t.Helper()
	torch.Test(t, func() {
		torch.SetThreads(1)
		m, err := New(c, fewWords(24), torch.CPU)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		defer m.Free()
		scope := torch.OpenScope()
		defer scope.Close()
		const rows, columns = 3, 2
		states, _ := m.Network.Forward(models.Chunk{IDs: []int64{0, 3, 1, 4, 2, 5}, Time: rows, Columns: columns}, nil, torch.NewStream(1, "dropout"))
		loss, _ := m.Output.Loss(OutputStates(states), torch.FromInt64s([]int64{1, 4, 2, 5, 23, 6}, torch.CPU, rows*columns), 1.0/(rows*columns))
		loss.Backward()
		m.Output.Penalize()
		for i, p := range m.Params.Tensors() {
			g := p.Grad()
			if !g.Defined() {
				t.Errorf("%s: %s learns nothing", name, m.Params.Names()[i])
				continue
			}
			if sum := g.Abs().Sum().Item(); !(sum >= 0 && sum < 1e6) {
				t.Errorf("%s: the gradient of %s sums up to %g", name, m.Params.Names()[i], sum)
			}
		}
	})
}

// Each preset of a language model, made narrow, is a network and an output layer that fit together.
func TestPresetsBuild(t *testing.T) {
	built := 0
	for _, run := range []string{"ptb", "wikitext2", "wikitext103"} {
		files, err := filepath.Glob(filepath.Join("..", "..", run, "*.toml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			folder := t.TempDir()
			if err := os.WriteFile(filepath.Join(folder, experiment.ConfigFile), text, 0o666); err != nil {
				t.Fatal(err)
			}
			c, err := experiment.ReadConfig(folder)
			if err != nil {
				t.Fatal(err)
			}
			c.Model.Width, c.Model.Hidden, c.Model.Heads, c.Model.FFNWidth, c.Model.Memory = 8, 9, 2, 10, 4
			if c.Model.LastHidden > 0 {
				c.Model.LastHidden = 11
			}
			if c.Objective.AdaptiveCutoffs != "" {
				c.Objective.AdaptiveCutoffs = "6,12,18"
			}
			tryModel(t, file, c)
			built++
		}
	}
	if built < 40 {
		t.Errorf("only %d presets were found", built)
	}
}

// A mixture scores states wider or narrower than word vectors where the network can make them, and the others are refused
// in a sentence.
func TestMixtureOfAllNetworks(t *testing.T) {
	config := func(kind string, last int, method string) experiment.Config {
		c := experiment.Default()
		c.Model.Kind, c.Model.Layers, c.Model.Width, c.Model.Hidden, c.Model.LastHidden = kind, 2, 8, 9, last
		c.Model.Heads, c.Model.FFNWidth, c.Model.Memory = 2, 10, 4
		c.Objective.Method, c.Objective.MixtureComponents, c.Objective.LabelSmoothing, c.Objective.Bias = method, 3, 0, true
		return c
	}
	for _, kind := range []string{"awd-lstm", "qrnn", "transformer-xl"} {
		for _, last := range []int{0, 5, 13} {
			for _, method := range []string{"mos", "mos+adversarial", "mos+spectrum"} {
				c := config(kind, last, method)
				if kind == "transformer-xl" && last > 0 {
					if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "model.last_hidden") {
						t.Errorf("a Transformer-XL with a last layer of its own width: %v", err)
					}
					continue
				}
				tryModel(t, kind+" with "+method, c)
			}
		}
	}
	torch.Test(t, func() {
		m, err := New(config("qrnn", 5, "mle"), fewWords(24), torch.CPU)
		if err == nil {
			m.Free()
		}
		if err == nil || !strings.Contains(err.Error(), "mos") {
			t.Errorf("a softmax of states that are narrower than word vectors: %v", err)
		}
	})
}
