package measures

import (
	"testing"

	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/torch"
)

// TestPenaltyIsMeasured: for gamma = 1 and rows that are not zero, the penalty of cosreg is the mean cosine of the
// measures, whose divisor is V(V-1), times (V-1)/V.
func TestPenaltyIsMeasured(t *testing.T) {
	for _, method := range []string{"cosreg", "spectrum+cosreg"} {
		torch.Test(t, func() {
			s := objectives.Defaults()
			s.Method = method
			p := objectives.Config{Vocabulary: 47, Width: 7, Padding: -1, Params: &torch.Params{},
				Stream: torch.NewStream(1, "init"), Device: torch.CPU, DType: torch.Float64}
			defer p.Params.Free()
			o, err := objectives.New(s, p)
			if err != nil {
				t.Fatal(err)
			}
			defer o.Free()
			o.Penalize()
			torch.ZeroGrad(p.Params.Tensors())
			want := Measure(o.Embedding().Matrix()).MeanCosine * 46 / 47
			near(t, method, []float64{o.Report()["mean_cosine_penalty"]}, []float64{want}, 1e-12)
		})
	}
}
