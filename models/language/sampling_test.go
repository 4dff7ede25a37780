package language_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/torch"
)

// What is drawn follows the probabilities that the settings leave.
func TestSampling(t *testing.T) {
	logProbs := make([]float32, 4)
	for i, p := range []float64{0.1, 0.4, 0.3, 0.2} {
		logProbs[i] = float32(math.Log(p))
	}
	for _, c := range []struct {
		name string
		s    language.SampleOptions
		want []float64
	}{
		{"all", language.SampleOptions{Temperature: 1}, []float64{0.1, 0.4, 0.3, 0.2}},
		{"the best", language.SampleOptions{}, []float64{0, 1, 0, 0}},
		{"two", language.SampleOptions{Temperature: 1, TopK: 2}, []float64{0, 4.0 / 7, 3.0 / 7, 0}},
		{"more than there are", language.SampleOptions{Temperature: 1, TopK: 9, TopP: 1}, []float64{0.1, 0.4, 0.3, 0.2}},
		{"a nucleus", language.SampleOptions{Temperature: 1, TopP: 0.75}, []float64{0, 4.0 / 9, 3.0 / 9, 2.0 / 9}},
		{"a small nucleus", language.SampleOptions{Temperature: 1, TopP: 0.01}, []float64{0, 1, 0, 0}},
		{"cold", language.SampleOptions{Temperature: 0.5}, []float64{0.01 / 0.3, 0.16 / 0.3, 0.09 / 0.3, 0.04 / 0.3}},
	} {
		random := rand.New(rand.NewPCG(1, 1))
		counts := make([]float64, 4)
		const draws = 20000
		for range draws {
			counts[c.s.Draw(logProbs, random)]++
		}
		for i, n := range counts {
			if math.Abs(n/draws-c.want[i]) > 0.015 {
				t.Errorf("%s: word %d has share %.3f, want %.3f", c.name, i, n/draws, c.want[i])
			}
		}
	}
}

// What the options leave is what transformers' processors leave (testdata/gen_sampling.py).
func TestSamplingEqualsTransformers(t *testing.T) {
	var golden struct {
		LogProbs []float32 `json:"log_probs"`
		Seen     []int32
		Cases    []struct {
			Repetition, Temperature, Typical float64
			MinP                             float64 `json:"min_p"`
			TopP                             float64 `json:"top_p"`
			TopK                             int     `json:"top_k"`
			Left                             []float64
		}
	}
	text, err := os.ReadFile("testdata/sampling.json")
	if err == nil {
		err = json.Unmarshal(text, &golden)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range golden.Cases {
		o := language.SampleOptions{Repetition: c.Repetition, Temperature: cmp.Or(c.Temperature, 1), TopK: c.TopK,
			TopP: c.TopP, MinP: c.MinP, Typical: c.Typical}
		fixtures.Near(t, fmt.Sprintf("case %d, %+v", i, o), o.Left(slices.Clone(golden.LogProbs), golden.Seen), c.Left, 1e-6)
	}
}

// Contrastive search takes the words that a search finds which reads the whole text anew for each candidate and
// computes with Go's numbers.
func TestContrastiveSearch(t *testing.T) {
	for _, kind := range language.Kinds() {
		for _, o := range []language.SampleOptions{{Contrastive: 0.6}, {Contrastive: 0.3, TopK: 3, Repetition: 1.5},
			{Contrastive: 1, TopK: 8}} {
			change := func(s *language.Settings) {
				s.Model.Kind, s.Model.Heads, s.Model.FFNWidth, s.Model.Memory = kind, 2, 16, 40
			}
			withModel(t, change, func(m *language.Model, texts texts) {
				o.Words = 8
				prompt := texts.valid[:5]
				got := m.Continue(t.Context(), prompt, o)
				text := slices.Clone(prompt)
				for range o.Words {
					text = append(text, slowContrastive(t, m, text, o, 1000))
				}
				if want := text[len(prompt):]; !slices.Equal(got, want) {
					t.Errorf("%s with %+v: %v, want %v", kind, o, got, want)
				}
			})
		}
	}
}

// Where the window is full, its second half stays, for a candidate as for the word that follows.
func TestContrastiveSearchForgets(t *testing.T) {
	withGPT(t, gptSettings(), func(m *language.Model, ids []int32) {
		o := language.SampleOptions{Contrastive: 1, TopK: 12, Words: 20} // states alone choose
		for _, c := range []struct{ room, n int }{{8, 1}, {8, 5}, {8, 8}, {7, 1}, {3, 1}, {2, 1}} {
			m.Settings.Train.BPTT = c.room
			text := slices.Clone(ids[:c.n])
			got := m.Continue(t.Context(), text, o)
			for range o.Words {
				text = append(text, slowContrastive(t, m, text, o, c.room))
			}
			if want := text[c.n:]; !slices.Equal(got, want) {
				t.Errorf("with room for %d, behind %d words: %v, want %v", c.room, c.n, got, want)
			}
		}
	})
}

// windowOf is what is left of a text that was read word by word where there is room for a number of words.
func windowOf(text []int32, room int) (window []int32) {
	for _, id := range text {
		if window = append(window, id); len(window) > room {
			window = window[len(window)-room/2:]
		}
	}
	return window
}

// slowContrastive is the next word of a contrastive search that has room for a number of words.
func slowContrastive(t *testing.T, m *language.Model, text []int32, o language.SampleOptions, room int) (word int32) {
	last := func(text []int32) (state []float64, logProbs []float32) {
		ids := windowOf(text, room)
		m.Read(columns(t, append(slices.Clone(ids), ids[0]), 1), 1000, func(s torch.States, _ torch.Tensor) {
			h := s.Hidden.Narrow(0, int64(len(ids)-1), 1)
			state, logProbs = h.To(torch.Float64, torch.CPU).Float64s(), m.Output.LogProbs(h).Float32s()
		})
		return state, logProbs
	}
	cosine := func(a, b []float64) float64 {
		product, left, right := 0.0, 0.0, 0.0
		for i := range a {
			product, left, right = product+a[i]*b[i], left+a[i]*a[i], right+b[i]*b[i]
		}
		return product / math.Sqrt(left*right)
	}
	var seen [][]float64
	var logProbs []float32
	for i := range text {
		var state []float64
		state, logProbs = last(text[:i+1])
		seen = append(seen, state)
	}
	p, total := make([]float64, len(logProbs)), 0.0
	for id, x := range logProbs {
		p[id] = math.Exp(float64(x))
		if o.Repetition > 0 && slices.Contains(text, int32(id)) {
			p[id] = math.Pow(p[id], o.Repetition)
		}
		total += p[id]
	}
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[b], p[a]) })
	most := math.Inf(-1)
	for _, id := range order[:cmp.Or(o.TopK, 5)] {
		state, _ := last(append(slices.Clone(text), int32(id)))
		alike := -1.0
		for _, h := range seen {
			alike = max(alike, cosine(state, h))
		}
		if score := (1-o.Contrastive)*p[id]/total - o.Contrastive*alike; score > most {
			word, most = int32(id), score
		}
	}
	return word
}

// The same seed gives the same text, and one word after the other is what reading the whole at once predicts.
func TestContinue(t *testing.T) {
	withModel(t, nil, func(m *language.Model, texts texts) {
		prompt := texts.valid[:5]
		draw := func(seed uint64) []int32 {
			return m.Continue(t.Context(), prompt, language.SampleOptions{Words: 20, Temperature: 1, Seed: seed})
		}
		if !slices.Equal(draw(3), draw(3)) {
			t.Error("one seed gives two texts")
		}
		if slices.Equal(draw(3), draw(4)) {
			t.Error("two seeds give one text")
		}
		best := m.Continue(t.Context(), prompt, language.SampleOptions{Words: 10})
		whole := append(append([]int32{}, prompt...), best...)
		at := 0
		m.Read(columns(t, whole, 1), 1000, func(s torch.States, _ torch.Tensor) {
			for i, id := range m.Output.LogProbs(s.Hidden).ArgMax(1).Int64s() {
				if i >= len(prompt)-1 && int32(id) != best[i-len(prompt)+1] {
					t.Errorf("word %d is %d, read at once %d", i, best[i-len(prompt)+1], id)
				}
				at++
			}
		})
		if at != 14 {
			t.Errorf("%d states", at)
		}
	})
}

// TestBest: the n most probable words are the first n of all in their order, equal ones by their id.
func TestBest(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	logProbs := make([]float32, 300)
	for i := range logProbs {
		logProbs[i] = -float32(random.IntN(40)) // many are equal
	}
	want := make([]int32, len(logProbs))
	for i := range want {
		want[i] = int32(i)
	}
	slices.SortStableFunc(want, func(a, b int32) int { return cmp.Compare(logProbs[b], logProbs[a]) })
	for _, n := range []int{0, 1, 2, 10, 299, 300, 1000} {
		if got := language.Best(logProbs, n); !slices.Equal(got, want[:min(n, len(want))]) {
			t.Errorf("the best %d are %v, want %v", n, got, want[:min(n, len(want))])
		}
	}
}
