package measures

import (
	"math"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// The measures of geometry and of scores equal NumPy's, by the authors' definitions (testdata/gen_geometry.py).
func TestGeometryEqualsNumPy(t *testing.T) {
	torch.Test(t, func() {
		g, _, err := torch.ReadSafetensors("testdata/geometry.safetensors", torch.CPU)
		if err != nil {
			t.Fatal(err)
		}
		w := g["w"]
		m, c, scores := Measure(w), PrincipalComponents(w), MeasureScores(g["log_p"])
		for key, got := range map[string]float64{
			"iso_score": m.IsoScore, "mean_share": m.MeanShare, "mu_norm": c.MeanNorm,
			"iso_score_star": IsoScoreStar(w, torch.Tensor{}, 0.2),
			"iso_score_few":  IsoScoreStar(g["few"], g["stable"], 0.4),
			"separation":     RareSeparation(w, g["counts"].Float64s()),
			"logit_range":    scores.LogitRange, "rank": float64(scores.Rank),
			"rank_mixed": float64(MeasureScores(g["mixed"]).Rank),
		} {
			near(t, key, []float64{got}, g[key].Float64s(), 1e-9)
		}
		near(t, "IsoScore by components", []float64{c.IsoScore()}, []float64{m.IsoScore}, 1e-12)
		sphere := torch.FromFloat64s([]float64{1, 0, 0, 0, 1, 0, 0, 0, 1}, torch.CPU, 3, 3)
		x := w.Narrow(1, 0, 3)
		mean := sum(PrincipalComponents(x).Variances) / 3 * 53 / 52
		near(t, "IsoScore* with equal variances", []float64{PrincipalComponents(x.MulScalar(7)).ShrunkIsoScore(0.3)},
			[]float64{IsoScoreStar(x, sphere.MulScalar(mean), 0.3)}, 1e-12)
		near(t, "IsoScore* without another covariance", []float64{IsoScoreStar(w, g["stable"], 0)},
			[]float64{m.IsoScore}, 1e-12)
	})
}

// A softmax of D dimensions has a rank of D + 1 in float32 too, with a bias D + 2; a mixture has none but the sample's.
func TestSoftmaxRank(t *testing.T) {
	torch.Test(t, func() {
		const n, v, d = 90, 300, 40
		s := torch.NewStream(3, "data")
		h, w := s.Normal(0, 1, torch.Float32, torch.CPU, n, d), s.Normal(0, 0.5, torch.Float32, torch.CPU, v, d)
		bias := s.Normal(0, 1, torch.Float32, torch.CPU, v)
		for what, c := range map[string]struct {
			logP torch.Tensor
			want int
		}{
			"softmax":           {torch.Linear(h, w, torch.Tensor{}).LogSoftmax(-1), d + 1},
			"with a bias":       {torch.Linear(h, w, bias).LogSoftmax(-1), d + 2},
			"sigmoid of scores": {torch.Linear(h, w, bias).Sigmoid().Log().LogSoftmax(-1), n},
		} {
			if got := MeasureScores(c.logP); got.Rank != c.want || got.RankLimit != n {
				t.Errorf("%s: the rank is %d of %d, want %d", what, got.Rank, got.RankLimit, c.want)
			}
		}
		many := MeasureScores(torch.Zeros(torch.Float32, torch.CPU, 3, rankWords+5))
		if many.Rank != 0 || many.RankLimit != 3 || many.LogitRange != 0 {
			t.Errorf("equal probabilities have %+v", many)
		}
	})
}

// Words without a count, few words and empty samples.
func TestGeometryAtTheEdges(t *testing.T) {
	torch.Test(t, func() {
		w := torch.NewStream(3, "data").Normal(0, 1, torch.Float64, torch.CPU, 9, 3)
		counts := make([]float64, 9)
		for i := range counts {
			counts[i] = float64(i + 1)
		}
		for what, x := range map[string]float64{
			"the separation of nine words": RareSeparation(w, counts),
			"IsoScore* of one row":         IsoScoreStar(w.Narrow(0, 0, 1), torch.Tensor{}, 0.2),
			"the range of no state":        MeasureScores(torch.Zeros(torch.Float32, torch.CPU, 0, 4)).LogitRange,
			"IsoScore of zeros":            Measure(w.MulScalar(0)).IsoScore,
			"the mean's share of zeros":    Measure(w.MulScalar(0)).MeanShare,
		} {
			if !math.IsNaN(x) {
				t.Errorf("%s is %v", what, x)
			}
		}
	})
}
