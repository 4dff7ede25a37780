package decode_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/torch"
)

type golden struct {
	Model      string  `json:"model"`
	Beam       int     `json:"beam"`
	Lenpen     float64 `json:"lenpen"`
	MinLength  int     `json:"min_len"`
	MaxLengthA float64 `json:"max_len_a"`
	MaxLengthB int     `json:"max_len_b"`
	Sharpen    float64 `json:"sharpen"`
	Cases      []struct {
		Source     []int32 `json:"source"`
		Hypotheses []struct {
			IDs           []int32   `json:"ids"`
			Score         float64   `json:"score"`
			LogProb       float64   `json:"log_prob"`
			TokenLogProbs []float64 `json:"token_log_probs"`
		} `json:"hypotheses"`
	} `json:"cases"`
}

func goldens(t *testing.T) []golden {
	t.Helper()
	text, err := os.ReadFile("testdata/beam.json")
	if err != nil {
		t.Fatal(err)
	}
	var out []golden
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func (g golden) options() decode.Options {
	o := decode.Defaults()
	o.Beam, o.NBest, o.Lenpen = g.Beam, g.Beam, g.Lenpen
	o.MinLength, o.MaxLengthA, o.MaxLengthB = g.MinLength, g.MaxLengthA, g.MaxLengthB
	return o
}

// TestSearchEqualsPyTorch: ids and scores of every finished hypothesis, fused in
// float32 and of plain operators in float64; one alone, and the first of many.
func TestSearchEqualsPyTorch(t *testing.T) {
	for _, g := range goldens(t) {
		for dtype, limit := range map[torch.DType]float64{torch.Float32: 1e-5, torch.Float64: 1e-9} {
			name := fmt.Sprintf("%s/beam%d/lenpen%v/min%d/max%v+%d/%v", g.Model, g.Beam, g.Lenpen, g.MinLength,
				g.MaxLengthA, g.MaxLengthB, dtype)
			t.Run(name, func(t *testing.T) {
				torch.Test(t, func() {
					f := load(t, g.Model, dtype, g.Sharpen)
					defer f.free()
					var sources [][]int32
					for _, c := range g.Cases {
						sources = append(sources, c.Source)
					}
					near := func(what string, got, want float64) {
						if d := math.Abs(got - want); !(d <= limit*math.Max(1, math.Abs(want))) {
							t.Errorf("%s is %v, want %v", what, got, want)
						}
					}
					for _, nbest := range []int{g.Beam, 1} {
						o := g.options()
						o.NBest = nbest
						got := must(t, f.model, f.scorer(), sources, o)
						for i, c := range g.Cases {
							if len(got[i]) != min(nbest, len(c.Hypotheses)) {
								t.Fatalf("source %d has %d hypotheses, want %d", i, len(got[i]), len(c.Hypotheses))
							}
							for j, h := range got[i] {
								want := c.Hypotheses[j]
								if !slices.Equal(h.IDs, want.IDs) {
									t.Fatalf("hypothesis %d of source %d is %v, want %v", j, i, h.IDs, want.IDs)
								}
								near("the score", h.Score, want.Score)
								near("the log-probability", h.LogProb, want.LogProb)
								for k, p := range h.TokenLogProbs {
									near("a word's log-probability", p, want.TokenLogProbs[k])
								}
							}
						}
					}
				})
			})
		}
	}
}
