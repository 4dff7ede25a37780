package language_test

import (
	"math"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// fewWords is a vocabulary of the given number of words.
func fewWords(n int) *corpus.Words {
	words := corpus.NewWords()
	for i := range n {
		words.ID(string(rune('a' + i)))
	}
	return words
}

// tryModel builds a model and has it learn from a chunk, as an update would.
func tryModel(t *testing.T, name string, s language.Settings) {
	t.Helper()
	torch.Test(t, func() {
		m, err := language.New(s, fewWords(24), device)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		defer m.Free()
		scope := torch.OpenScope()
		defer scope.Close()
		const rows, columns = 3, 2
		states, _ := m.Network.Forward(models.Chunk{IDs: []int64{0, 3, 1, 4, 2, 5}, Time: rows, Columns: columns}, nil,
			torch.NewStream(1, "dropout"))
		loss, _ := m.Output.Loss(states, torch.FromInt64s([]int64{1, 4, 2, 5, 23, 6}, device, rows*columns),
			1.0/(rows*columns))
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

// A mixture scores states wider or narrower than word vectors where the network can make them, and the others are
// refused in a sentence.
func TestMixtureOfAllNetworks(t *testing.T) {
	settings := func(kind string, last int, method string) language.Settings {
		s := language.Defaults()
		s.Model.Kind, s.Model.Layers, s.Model.Width, s.Model.Hidden, s.Model.LastHidden = kind, 2, 8, 9, last
		s.Model.Heads, s.Model.FFNWidth, s.Model.Memory = 2, 10, 4
		s.Train.Random = false
		s.Objective.Set("method", method, "mixture_components", 3, "label_smoothing", 0, "bias", true)
		return s
	}
	for _, kind := range language.Kinds() {
		for _, last := range []int{0, 5, 13} {
			for _, method := range []string{"mos", "mos+adversarial", "mos+spectrum"} {
				s := settings(kind, last, method)
				err := s.Check()
				if (kind == "transformer-xl" || kind == "gpt") && last > 0 {
					if err == nil || !strings.Contains(err.Error(), "model.last_hidden") {
						t.Errorf("%s with a last layer of its own width: %v", kind, err)
					}
					continue
				}
				if err != nil {
					t.Error(err)
				}
				tryModel(t, kind+" with "+method, s)
			}
		}
	}
	torch.Test(t, func() {
		for method, want := range map[string]string{
			"mle":      ": make the two equal, or join the method with mos, or set model.last_hidden = 0",
			"adaptive": ": make the two equal, or set model.last_hidden = 0",
			"headless": ": make the two equal, or set model.last_hidden = 0",
		} {
			m, err := language.New(settings("qrnn", 5, method), fewWords(24), device)
			if err == nil {
				m.Free()
			}
			if err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%s of states that are narrower than word vectors: %v, want %s", method, err, want)
			}
		}
	})
}

// Settings that contradict each other are refused in a sentence that names them.
func TestCheck(t *testing.T) {
	for part, change := range map[string]func(*language.Settings){
		`model.kind = "transformer" is no language model`: func(s *language.Settings) { s.Model.Kind = "transformer" },
		`model.tying = "decoder"`:                         func(s *language.Settings) { s.Model.Tying = "decoder" },
		"train.bptt_longest = 3": func(s *language.Settings) {
			s.Train.Random,
				s.Train.Longest = true, 3
		},
		"model.last_hidden = 20": func(s *language.Settings) {
			s.Model.Kind,
				s.Model.LastHidden = "transformer-xl", 20
		},
		"model.heads": func(s *language.Settings) {
			s.Model.Kind,
				s.Model.Heads = "transformer-xl", 7
		},
		"train.bptt_random draws":     func(s *language.Settings) { s.Model.Kind = "gpt" },
		"train.stride = 5 is for gpt": func(s *language.Settings) { s.Train.Stride = 5 },
		"train.stride = 9 does not divide train.bptt = 70": func(s *language.Settings) {
			s.Model.Kind, s.Train.Random, s.Train.Stride = "gpt", false, 9
		},
		"train.bptt = 2000 is longer than model.max_positions = 1024": func(s *language.Settings) {
			s.Model.Kind, s.Train.Random, s.Train.BPTT = "gpt", false, 2000
		},
		"model.last_hidden = 8": func(s *language.Settings) {
			s.Model.Kind, s.Train.Random, s.Model.LastHidden = "gpt", false, 8
		},
		"data.tokenizer holds pieces": func(s *language.Settings) { s.Text.Tokenizer = "gpt2" },
		"data.vocabulary_order": func(s *language.Settings) {
			s.Text.Units, s.Text.VocabularyOrder = "bytes-bpe", "frequency"
		},
	} {
		s := language.Defaults()
		s.Model.Kind = "awd-lstm"
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		change(&s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v, want %q", err, part)
		}
	}
}

// TestReaches holds the shares of a product's rate to those that docs/results/scale.md tells of, within a tenth:
// weights that no cache holds are read at each step for however few columns, those of small layers are not.
func TestReaches(t *testing.T) {
	for _, c := range []struct {
		kind            string
		hidden, columns int
		want            float64
	}{
		{"awd-lstm", 1150, 20, 0.82},
		{"awd-lstm", 1150, 10, 0.69},
		{"awd-lstm", 200, 20, 0.69},
		{"awd-lstm", 200, 5, 0.69},
		{"qrnn", 1150, 20, 0.79},
	} {
		s := language.Defaults()
		s.Model.Kind, s.Model.Hidden = c.kind, c.hidden
		if got := s.Reaches(c.columns); math.Abs(got-c.want) > 0.1*c.want {
			t.Errorf("%s of %d units reaches %.2f of the rate with %d columns, want %.2f", c.kind, c.hidden, got,
				c.columns, c.want)
		}
	}
}
