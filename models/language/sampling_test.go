package language_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// The same seed gives the same text, and one word after the other is what reading the whole at once predicts.
func TestContinue(t *testing.T) {
	withModel(t, nil, func(m *language.Model, texts texts) {
		prompt := texts.valid[:5]
		draw := func(seed uint64) []int32 {
			return m.Continue(t.Context(), prompt, language.SampleOptions{Words: 20, Temperature: 1, Seed: seed})
		}
		if diff := cmp.Diff(draw(3), draw(3)); diff != "" {
			t.Error("one seed gives two texts")
		}
		if cmp.Equal(draw(3), draw(4)) {
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
