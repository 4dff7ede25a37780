package language_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// texts are of a toy language: ids of its words.
type texts struct {
	words        *corpus.Words
	train, valid []int32
}

// withModel runs body with a small untrained model of a text's words.
func withModel(t *testing.T, change func(*language.Settings), body func(m *language.Model, texts texts)) {
	t.Helper()
	s := language.Defaults()
	s.Model.Kind, s.Model.Layers, s.Model.Width, s.Model.Hidden = "awd-lstm", 2, 12, 14
	s.Objective.Set("label_smoothing", 0, "bias", true)
	s.Seed = 1
	if change != nil {
		change(&s)
	}
	made := texts{words: corpus.NewWords()}
	made.train, made.valid = read(t, counting(1, 20, 100), made.words), read(t, counting(2, 100, 100), made.words)[:300]
	made.words.Close()
	torch.Test(t, func() {
		m, err := language.New(s, made.words, device)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Free()
		// Weights that are large enough for predictions to differ.
		scope := torch.OpenScope()
		for _, p := range m.Params.Tensors() {
			p.Assign(p.Detach().MulScalar(4))
		}
		scope.Close()
		body(m, made)
	})
}

func columns(t *testing.T, ids []int32, count int) corpus.Columns {
	t.Helper()
	c, err := corpus.NewColumns(ids, count, "text", "key")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// near compares two numbers.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %.8f, want %.8f", what, got, want)
	}
}

// The published models have the published numbers of parameters. Transformer-XL's 120,307,738 of 4 layers are counted
// on a vocabulary of 1,000 in place of 267,735 words, each of which has 410 numbers and a bias.
func TestParameterCounts(t *testing.T) {
	mixture := func(width, hidden, last int) func(*language.Settings) {
		return func(s *language.Settings) {
			s.Objective.Set("method", "mos", "mixture_components", 15)
			s.Model.Width, s.Model.Hidden, s.Model.LastHidden = width, hidden, last
		}
	}
	for name, c := range map[string]struct {
		words  int
		params int64
		change func(*language.Settings)
	}{
		"AWD-LSTM, Penn Treebank": {10000, 24221600, func(*language.Settings) {}},
		"AWD-LSTM, WikiText-2":    {33278, 33556078, func(*language.Settings) {}},
		"mixture, Penn Treebank":  {10000, 21500620, mixture(280, 960, 620)},
		"mixture, WikiText-2":     {33278, 34909528, mixture(300, 1150, 650)},
		"Transformer-XL": {1000, 120307738 - (267735-1000)*411, func(s *language.Settings) {
			s.Model.Kind, s.Model.Layers, s.Model.Width, s.Model.Heads, s.Model.FFNWidth = "transformer-xl", 4, 410, 10,
				2100
			s.Objective.Set("method", "adaptive", "adaptive_cutoffs", "200,400,600")
		}},
	} {
		words := corpus.NewWords()
		for i := range c.words {
			words.ID(string(rune(0x4e00 + i)))
		}
		s := language.Defaults()
		s.Model.Kind, s.Model.Width = "awd-lstm", 400
		s.Objective.Set("bias", true, "label_smoothing", 0)
		c.change(&s)
		torch.Test(t, func() {
			m, err := language.New(s, words, device)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			defer m.Free()
			if n := m.Params.Count(); n != c.params {
				t.Errorf("%s: %d parameters, want %d", name, n, c.params)
			}
		})
	}
}

// A text's loss does not depend on how it is cut into chunks, and all words of a step have probability one together.
func TestNLL(t *testing.T) {
	withModel(t, nil, func(m *language.Model, texts texts) {
		c := columns(t, texts.valid, 3)
		sum, tokens := m.NLL(c)
		if tokens != 3*(len(texts.valid)/3-1) {
			t.Errorf("%d tokens", tokens)
		}
		for _, rows := range []int{1, 7, 1000} {
			other := 0.0
			m.Read(c, rows, func(states torch.States, targets torch.Tensor) {
				other += m.Output.NLL(states, targets).Sum().Item()
				p := m.Output.LogProbs(states.Hidden).Exp().SumDim(1, false).Float64s()
				near(t, "the sum of probabilities", p[0], 1, 1e-5)
			})
			near(t, "the loss in other chunks", other, sum, 1e-3)
		}
		near(t, "the legacy loss", c.Legacy(2), 2*99.0/100, 1e-12)
	})
}

// A Transformer-XL scores in chunks of its own length, and sees more of the past where its context says so.
func TestContext(t *testing.T) {
	withModel(t, func(s *language.Settings) {
		s.Model.Kind, s.Model.Heads, s.Model.FFNWidth, s.Model.Memory, s.Train.BPTT = "transformer-xl", 2, 16, 20, 20
	}, func(m *language.Model, texts texts) {
		c := columns(t, texts.valid, 2)
		short, _ := m.NLL(c)
		for _, x := range []struct {
			context models.XLContext
			rows    int
			same    bool
		}{{models.XLContext{Memory: 20}, 20, true}, {models.XLContext{Memory: 60}, 10, false}} {
			if err := m.SetContext(x.context, x.rows); err != nil {
				t.Fatal(err)
			}
			if sum, _ := m.NLL(c); (sum == short) != x.same {
				t.Errorf("with %+v the loss is %v, before %v", x.context, sum, short)
			}
		}
	})
	withModel(t, nil, func(m *language.Model, _ texts) {
		if err := m.SetContext(models.XLContext{Memory: 60}, 10); err == nil ||
			!strings.Contains(err.Error(), "has no memory") {
			t.Errorf("an LSTM with a context: %v", err)
		}
	})
}

// The cache's probabilities on three positions, by hand.
func TestCacheGolden(t *testing.T) {
	const theta, lambda = 0.662, 0.1279
	history, words := [][2]float64{{1, 0}, {0, 1}, {1, 1}}, []int32{2, 0, 2}
	scores := make([]float32, 3)
	for i, h := range history {
		scores[i] = float32(h[0]*0.5 + h[1]*1)
	}
	vocabulary := []float64{0.2, 0.5, 0.3}
	for word, want := range []float64{0.215538, 0.436050, 0.348412} {
		p := language.Pointer(scores, words, int32(word), theta)
		near(t, "the mixture", (1-lambda)*vocabulary[word]+lambda*p, want, 1e-6)
	}
	near(t, "the first weight", language.Pointer(scores, []int32{7, 8, 9}, 7, theta), 0.230892, 1e-6)
	// Without theta the cache counts.
	near(t, "counts", language.Pointer(scores, words, 2, 0), 2.0/3, 1e-7)
}

// The cache against its definition, state by state; and where it is silent or has no share, the model is as it was.
func TestCache(t *testing.T) {
	withModel(t, nil, func(m *language.Model, texts texts) {
		ids := texts.valid
		const window = 40
		thetas := []float64{0, 0.7}
		got, err := m.ScoreWithCache(ids, thetas, window)
		if err != nil {
			t.Fatal(err)
		}
		sum, tokens := m.NLL(columns(t, ids, 1))
		near(t, "the loss without a share", got.NLL(1, 0), sum/float64(tokens), 1e-5)
		var states [][]float32
		m.Read(columns(t, ids, 1), 50, func(s torch.States, targets torch.Tensor) {
			raw, d := s.Raw.Float32s(), int(s.Raw.Size(1))
			for i := 0; i < len(raw); i += d {
				states = append(states, raw[i:i+d])
			}
		})
		for at := range states {
			for k, theta := range thetas {
				if at < window {
					if got.Pointer[k][at] != -1 {
						t.Fatalf("the cache speaks at position %d", at)
					}
					continue
				}
				total, found := 0.0, 0.0
				for i := at - window; i < at; i++ {
					dot := 0.0
					for j, x := range states[i] {
						dot += float64(x) * float64(states[at][j])
					}
					x := math.Exp(theta * dot)
					total += x
					if ids[i+1] == ids[at+1] {
						found += x
					}
				}
				near(t, "the cache's probability", got.Pointer[k][at], found/total, 1e-5)
			}
		}
		best, least, err := m.SearchCache(ids, language.Cache{Theta: -1, Lambda: -1, Window: window})
		if err != nil || !(least < sum/float64(tokens)) || best.Lambda == 0 {
			t.Errorf("the search finds %+v with %v (static %v), %v", best, least, sum/float64(tokens), err)
		}
		again, err := m.ScoreWithCache(ids, []float64{best.Theta}, window)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "the loss that the search found", again.NLL(0, best.Lambda), least, 1e-9)
	})
}

// Dynamic evaluation without a rate is static, whatever the chunk; with one it learns; and the weights come back.
func TestDynamicEvaluation(t *testing.T) {
	for _, method := range []string{"mle", "spectrum+adversarial"} {
		withModel(t, func(s *language.Settings) { s.Objective.Set("method", method, "label_smoothing", 0.1) },
			func(m *language.Model, texts texts) {
				follower, err := m.Dynamic(texts.train, 5, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer follower.Free()
				before := numbers(follower.Model())
				sum, tokens := m.NLL(columns(t, texts.valid, 1))
				static := sum / float64(tokens)
				for _, chunk := range []int{5, 17} {
					still, err := follower.NLL(texts.valid, language.Dynamic{Epsilon: 1e-3, Chunk: chunk})
					if err != nil {
						t.Fatal(err)
					}
					near(t, "the loss without a rate", still, static, 1e-5)
				}
				if device != torch.CPU { // the searches ask the network nothing else, and the checked device is slow
					moved, err := follower.NLL(texts.valid, language.Dynamic{Rate: 2.56e-3, Decay: 1e-5, Epsilon: 1e-3, Chunk: 5})
					if err != nil || !(moved < static-0.05) {
						t.Errorf("%s: dynamic loss %v, static %v, %v", method, moved, static, err)
					}
					if diff := cmp.Diff(before, numbers(follower.Model())); diff != "" {
						t.Error("the weights did not come back")
					}
					return
				}
				tries := 0
				score := func(d language.Dynamic) (float64, error) {
					tries++
					return follower.NLL(texts.valid, d)
				}
				start := language.Dynamic{Rate: 1e-3, Decay: 1e-3, Epsilon: 1e-3, Chunk: 5}
				best, err := language.SearchDynamic(start, false, score)
				if err != nil || tries < 4 || tries > language.MostPasses {
					t.Fatalf("%d tries, %v", tries, err)
				}
				moved, err := follower.NLL(texts.valid, best)
				if err != nil || !(moved < static-0.05) {
					t.Errorf("%s: dynamic loss %v with %+v, static %v, %v", method, moved, best, static, err)
				}
				start.Decay = 0.5
				if best, err = language.SearchDynamic(start, true, score); err != nil || best.Decay != 0.5 ||
					best.Rate == start.Rate {
					t.Errorf("%s: with a fixed decay the search ends at %+v, %v", method, best, err)
				}
				// From a rate at which the weights diverge the search comes down, and says so where it does not arrive.
				far := language.Dynamic{Rate: 1e-3, Decay: 1e-3, Epsilon: 1e-3, Chunk: 5}
				for nll := 0.0; !math.IsInf(nll, 1); {
					if far.Rate *= 6; far.Rate > 1e38 {
						t.Fatalf("%s: no rate diverges", method)
					}
					if nll, err = follower.NLL(texts.valid, far); err != nil || math.IsNaN(nll) {
						t.Fatalf("%s: at the rate %g the loss is %v, %v", method, far.Rate, nll, err)
					}
				}
				if best, err = language.SearchDynamic(far, false, score); err != nil || best.Rate >= far.Rate {
					t.Errorf("%s: from the rate %g the search ends at %g, %v", method, far.Rate, best.Rate, err)
				}
				far.Rate = 1e36
				if _, err = language.SearchDynamic(far, false, score); err == nil ||
					!strings.Contains(err.Error(), "-rate") {
					t.Errorf("%s: from the rate %g: %v", method, far.Rate, err)
				}
				if diff := cmp.Diff(before, numbers(follower.Model())); diff != "" {
					t.Error("the weights did not come back")
				}
			})
	}
}

// How a model was parameterised and trained does not change how its weights follow a text, a Transformer-XL keeps the
// context that it was given, and a GPT its windows.
func TestDynamicModelsAreSimple(t *testing.T) {
	for kind, context := range map[string]models.XLContext{"awd-lstm": {}, "gpt": {},
		"transformer-xl": {Memory: 9, Clamp: 7, SameLength: true}} {
		withModel(t, func(s *language.Settings) {
			s.Objective.Set("method", "spectrum+adversarial", "label_smoothing", 0.1)
			if s.Model.Kind = kind; kind != "awd-lstm" {
				s.Model.Heads, s.Model.FFNWidth = 2, 16
			}
			if kind == "gpt" {
				s.Train.Random, s.Train.BPTT = false, 6
			}
		}, func(m *language.Model, texts texts) {
			if _, ok := m.Network.(language.ContextNetwork); ok {
				if err := m.SetContext(context, 6); err != nil {
					t.Fatal(err)
				}
			}
			s := m.Settings
			s.Objective.Set("method", "mle", "label_smoothing", 0)
			dense, err := language.New(s, texts.words, device)
			if err != nil {
				t.Fatal(err)
			}
			defer dense.Free()
			values := m.Params.Map()
			m.Output.Simplify(values)
			if err := dense.Params.Load(values); err != nil {
				t.Fatal(err)
			}
			sum, tokens := m.NLL(columns(t, texts.valid, 1))
			d := language.Dynamic{Rate: 1e-3, Decay: 1e-3, Epsilon: 1e-3, Chunk: 6}
			var nll []float64
			for _, model := range []*language.Model{m, dense} {
				follower, err := model.Dynamic(texts.train, 6, 5)
				if err != nil {
					t.Fatal(err)
				}
				defer follower.Free()
				still, err := follower.NLL(texts.valid, language.Dynamic{Epsilon: 1e-3, Chunk: 6})
				if err != nil {
					t.Fatal(err)
				}
				near(t, kind+": the loss of a follower that does not move", still, sum/float64(tokens), 1e-5)
				moved, err := follower.NLL(texts.valid, d)
				if err != nil {
					t.Fatal(err)
				}
				nll = append(nll, moved)
			}
			near(t, kind+": the loss of a factored model's follower", nll[0], nll[1], 1e-5)
		})
	}
}

func numbers(m *language.Model) map[string][]float32 {
	scope := torch.OpenScope()
	defer scope.Close()
	all := map[string][]float32{}
	for name, x := range m.Params.Map() {
		all[name] = x.Detach().Float32s()
	}
	return all
}
