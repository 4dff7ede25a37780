package decode_test

import (
	"math"
	"slices"
	"testing"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/torch"
)

// clearMargin is by how much the best translation's score has to lie above the next one's
// before eight bits must not change it.
const clearMargin = 0.25

// TestInt8Search: eight bits find the same translations where those are clear, and where
// they are not, ones that are nearly as good.
func TestInt8Search(t *testing.T) {
	if device != torch.CPU {
		t.Skip("tests compute on " + string(device) + ", and weights of eight bits are for the CPU alone")
	}
	eachModel(t, func(t *testing.T, f *fixture) {
		s := sources(f, 60, 7)
		o := small()
		exact := must(t, f.model, f.scorer(), s, o)
		o.Int8 = true
		rough := must(t, f.model, f.scorer(), s, o)
		decided, equal := 0, 0
		for i, want := range exact {
			if len(want) < 2 {
				continue
			}
			got := rough[i][0]
			if slices.Equal(got.IDs, want[0].IDs) {
				equal++
			}
			if want[0].Score-want[1].Score > clearMargin {
				if decided++; !slices.Equal(got.IDs, want[0].IDs) {
					t.Errorf("source %d gives %v, want %v, which is better than all others by %.3f", i, got.IDs,
						want[0].IDs, want[0].Score-want[1].Score)
				}
			}
			if d := math.Abs(got.Score - want[0].Score); !(d <= clearMargin) {
				t.Errorf("source %d: the best score is %.3f, want %.3f", i, got.Score, want[0].Score)
			}
		}
		t.Logf("%d of %d translations are equal, %d of them by a clear margin", equal, len(exact), decided)
		if decided == 0 || equal < len(exact)/2 {
			t.Errorf("%d of %d translations are equal, and %d had a clear margin", equal, len(exact), decided)
		}
	})
}

// without is a model of a kind that has no weights of eight bits.
type without struct{ decode.Model }

// TestInt8OfOthers: a model that cannot says so, and prepared weights keep their kind.
func TestInt8OfOthers(t *testing.T) {
	torch.Test(t, func() {
		o := small()
		o.Int8 = true
		double := load(t, "postnorm_tied", torch.Float64, 4)
		defer double.free()
		_, err := decode.New(double.model, double.scorer(), o)
		wantError(t, err, "want a model in float32 on the CPU")
		f := load(t, "postnorm_tied", torch.Float32, 4)
		defer f.free()
		_, err = decode.New(without{f.model}, f.scorer(), o)
		wantError(t, err, "does not translate with weights of eight bits")
		s, err := decode.New(f.model, f.scorer(), small())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Free()
		_, err = s.With(o)
		wantError(t, err, "prepare them anew")
	})
}
