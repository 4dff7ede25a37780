package torch_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// continuousKinds are all losses, with their names and constants.
var continuousKinds = []struct {
	name    string
	options torch.ContinuousLossOptions
}{
	{"nll", torch.ContinuousLossOptions{Kind: torch.VMFNLL}},
	{"reg1", torch.ContinuousLossOptions{Kind: torch.VMFReg1, Lambda1: 0.02}},
	{"reg2", torch.ContinuousLossOptions{Kind: torch.VMFReg2, Lambda2: 0.1}},
	{"reg1+reg2", torch.ContinuousLossOptions{Kind: torch.VMFReg1Reg2, Lambda1: 0.02, Lambda2: 0.1}},
	{"log1p", torch.ContinuousLossOptions{Kind: torch.VMFLog1p, Lambda1: 0.2}},
	{"power spherical", torch.ContinuousLossOptions{Kind: torch.PowerSpherical}},
	{"squared L2", torch.ContinuousLossOptions{Kind: torch.SquaredL2}},
	{"rooted L2", torch.ContinuousLossOptions{Kind: torch.RootedL2}},
	{"cosine", torch.ContinuousLossOptions{Kind: torch.Cosine}},
	{"max-margin", torch.ContinuousLossOptions{Kind: torch.MaxMargin, Lambda1: 0.5}},
}

// sphere is a table of v unit vectors with m components whose row zero is zero.
func sphere(s *torch.Stream, v, m int64) torch.Tensor {
	table := s.Normal(0, 1, torch.Float64, device, v, m)
	table = table.Div(table.Norm(1, true))
	return table.MaskedFill(torch.Arange(v, device).EqualScalar(0).Reshape(v, 1), 0)
}

// withoutVector is a bias that keeps out the rows of zeros.
func withoutVector(table torch.Tensor) torch.Tensor {
	none := table.Norm(1, false).EqualScalar(0)
	return torch.Zeros(table.DType(), table.Device(), table.Size(0)).MaskedFill(none, -1e30)
}

// onTheArc is a hidden state of length kappa whose cosine with the first axis is c, and
// that axis as a table of one row.
func onTheArc(m int64, kappa, c float64) (hidden, table torch.Tensor) {
	h, e := make([]float64, m), make([]float64, m)
	h[0], h[m-1], e[0] = kappa*c, kappa*math.Sqrt(max(0, 1-c*c)), 1
	return torch.FromFloat64s(h, device, 1, m), torch.FromFloat64s(e, device, 1, m)
}

// onArc gives a loss on the arc and its derivative in kappa.
func onArc(o torch.ContinuousLossOptions, m int64, kappa, c float64) (value, slope float64) {
	scope := torch.OpenScope()
	defer scope.Close()
	hidden, table := onTheArc(m, kappa, c)
	hidden.SetRequiresGrad(true)
	o.Ignore, o.Scale = -1, 1
	loss, _ := torch.ContinuousLoss(hidden, table, torch.FromInt64s([]int64{0}, device, 1), o)
	loss.Backward()
	return loss.Item(), hidden.Grad().Mul(hidden).Sum().Item() / kappa
}

// TestTableOfStationaryLengths: where each loss puts kappa for a given cosine, m = 300.
func TestTableOfStationaryLengths(t *testing.T) {
	torch.Test(t, func() {
		stationary := func(kind int, m int64, c float64) float64 {
			low, high := 1e-3, 1e5
			for range 60 {
				middle := math.Sqrt(low * high)
				if _, slope := onArc(continuousKinds[kind].options, m, middle, c); slope > 0 {
					high = middle
				} else {
					low = middle
				}
			}
			return low
		}
		for _, row := range []struct {
			c    float64
			want map[int]float64
		}{
			{0.3, map[int]float64{0: 98.85, 1: 91.10, 3: 3.00, 4: 5.00}},
			{0.5, map[int]float64{0: 199.7, 1: 186.9, 3: 9.01, 4: 9.00}},
			{0.7, map[int]float64{0: 410.9, 1: 378.7, 3: 15.04, 4: 11.77}},
			{0.9, map[int]float64{0: 1417, 1: 1167, 3: 21.10, 4: 14.02}},
			{1, map[int]float64{1: 7400, 3: 24.15, 4: 15.02}},
		} {
			for kind, want := range row.want {
				within(t, fmt.Sprintf("%s, cosine %v: kappa", continuousKinds[kind].name, row.c),
					stationary(kind, 300, row.c), want, 0.006+4e-4*want)
			}
		}
		if _, slope := onArc(continuousKinds[0].options, 300, 1e6, 1); slope >= 0 {
			t.Error("the raw loss puts kappa at a finite length where the cosine is 1")
		}
		within(t, "log1p, m 512: kappa", stationary(4, 512, 1), 19.76, 0.006)
		within(t, "log1p, m 1024: kappa", stationary(4, 1024, 1), 28.14, 0.006)
	})
}

// TestTableOfLosses: the five forms at kappa 15, m = 300.
func TestTableOfLosses(t *testing.T) {
	torch.Test(t, func() {
		for c, want := range map[float64][]float64{
			0.8: {-439.2323, -438.9323, -428.4323, -428.1323, -428.8959},
			1:   {-442.2323, -441.9323, -428.7323, -428.4323, -429.4504},
		} {
			for kind, w := range want {
				got, _ := onArc(continuousKinds[kind].options, 300, 15, c)
				within(t, fmt.Sprintf("%s at cosine %v", continuousKinds[kind].name, c), got, w, 6e-5)
			}
		}
	})
}

// TestPowerSphericalGoldens compares values and slopes with 60 digits.
func TestPowerSphericalGoldens(t *testing.T) {
	torch.Test(t, func() {
		g, _ := golden(t, "vmf.safetensors")
		m, kappa, c := g["spherical/m"].Int64s(), g["spherical/kappa"].Float64s(), g["spherical/cosine"].Float64s()
		nll, slope := g["spherical/nll"].Float64s(), g["spherical/slope"].Float64s()
		for i := range m {
			value, s := onArc(torch.ContinuousLossOptions{Kind: torch.PowerSpherical}, m[i], kappa[i], c[i])
			at := fmt.Sprintf("m %d, kappa %v, cosine %v: ", m[i], kappa[i], c[i])
			within(t, at+"nll", value, nll[i], 1e-10*(1+math.Abs(nll[i])+kappa[i]*1e-3))
			within(t, at+"slope", s, slope[i], 1e-10*(1+math.Abs(slope[i])))
		}
	})
}

// lossOperands are random hidden states of assorted lengths, targets of which some are
// ignored (id 1) or zero (id 0), and negatives.
func lossOperands(n, m, v int64, o *torch.ContinuousLossOptions) (hidden, table, targets torch.Tensor) {
	s := torch.NewStream(7, fmt.Sprint(n, m, v))
	lengths := s.Uniform(-2, 3, torch.Float64, device, n, 1).Exp()
	hidden, table = s.Normal(0, 1, torch.Float64, device, n, m).Mul(lengths).MulScalar(1/math.Sqrt(float64(m))),
		sphere(s, v, m)
	draw := func() torch.Tensor {
		return s.Uniform(0, float64(v), torch.Float64, device, n).To(torch.Int64, device)
	}
	targets = draw()
	o.Ignore, o.Scale = 1, 1.0/31
	if o.Kind == torch.MaxMargin {
		ids := draw().Int64s()
		for i := range ids {
			if i%5 == 4 {
				ids[i] = -1
			}
		}
		o.Negatives = torch.FromInt64s(ids, device, n)
	}
	return hidden, table, targets
}

func TestContinuousLossEqualsReference(t *testing.T) {
	for _, kind := range continuousKinds {
		for _, shape := range [][3]int64{{31, 47, 13}, {200, 300, 50}, {5, 1, 4}, {9, 2, 3}, {64, 16, 700}} {
			t.Run(fmt.Sprint(kind.name, shape), func(t *testing.T) {
				torch.Test(t, func() {
					o := kind.options
					hidden, table, targets := lossOperands(shape[0], shape[1], shape[2], &o)
					if kind.name == "power spherical" && shape[1] < 3 {
						return // half of the cosines are near -1, where the derivative is cut off
					}
					run := func(f func(h, e, y torch.Tensor, o torch.ContinuousLossOptions) (torch.Tensor,
						torch.Tensor), dtype torch.DType) []torch.Tensor {
						h := hidden.To(dtype, device).Clone()
						h.SetRequiresGrad(true)
						loss, nll := f(h, table.To(dtype, device), targets, o)
						loss.MulScalar(1.5).Backward()
						if nll.RequiresGrad() {
							t.Error("the clean loss has a gradient")
						}
						return []torch.Tensor{loss, nll, h.Grad()}
					}
					want := run(torch.ContinuousLossReference, torch.Float64)
					for i, what := range []string{"loss", "nll", "gradient"} {
						near(t, what, run(torch.ContinuousLoss, torch.Float64)[i], want[i])
						nearWithin(t, "float32 "+what, run(torch.ContinuousLoss, torch.Float32)[i], want[i], 1e-5)
						nearWithin(t, "bfloat16 "+what, run(torch.ContinuousLoss, torch.BFloat16)[i], want[i], 0.06)
					}
					// against a table in float32, as under autocasting
					if h := hidden.To(torch.BFloat16, device).Clone(); true {
						h.SetRequiresGrad(true)
						loss, _ := torch.ContinuousLoss(h, table.To(torch.Float32, device), targets, o)
						nearWithin(t, "mixed loss", loss, want[0], 0.06)
					}
				})
			})
		}
	}
}

func TestContinuousLossGradientsByDifferences(t *testing.T) {
	torch.Test(t, func() {
		for _, kind := range continuousKinds {
			o := kind.options
			hidden, table, targets := lossOperands(9, 5, 7, &o)
			checkGradients(t, kind.name, []torch.Tensor{hidden}, func(in []torch.Tensor) torch.Tensor {
				loss, _ := torch.ContinuousLoss(in[0], table, targets, o)
				return loss.MulScalar(2)
			})
		}
	})
}

// TestContinuousLossRotates: a common rotation of hidden states and targets changes nothing.
func TestContinuousLossRotates(t *testing.T) {
	torch.Test(t, func() {
		q, _ := torch.NewStream(3, "rotation").Normal(0, 1, torch.Float64, device, 16, 16).QR()
		for _, kind := range continuousKinds {
			o := kind.options
			hidden, table, targets := lossOperands(40, 16, 9, &o)
			want, wantRows := torch.ContinuousLoss(hidden, table, targets, o)
			got, rows := torch.ContinuousLoss(hidden.MatMul(q), table.MatMul(q), targets, o)
			nearWithin(t, kind.name, got, want, 1e-12)
			nearWithin(t, kind.name+" by row", rows, wantRows, 1e-12)
		}
	})
}

// TestContinuousLossRanges: the density's negative log falls as the cosine rises; cosine is
// within [0,2], max-margin within [0,2.5] and 0 where the margin is kept.
func TestContinuousLossRanges(t *testing.T) {
	torch.Test(t, func() {
		for kind := range 5 {
			before := math.Inf(1)
			for c := -1.0; c <= 1; c += 0.125 {
				value, _ := onArc(continuousKinds[kind].options, 300, 12, c)
				if !(value < before) {
					t.Errorf("%s does not fall at cosine %v", continuousKinds[kind].name, c)
				}
				before = value
			}
		}
		o := torch.ContinuousLossOptions{Kind: torch.Cosine}
		hidden, table, targets := lossOperands(300, 3, 40, &o)
		_, cosines := torch.ContinuousLoss(hidden, table, targets, o)
		o.Kind, o.Lambda1 = torch.MaxMargin, 0.5
		bias := withoutVector(table)
		o.Negatives = torch.InformativeNegatives(hidden, table, bias, targets, o.Ignore)
		_, clean := torch.ContinuousLoss(hidden, table, targets, o)
		near(t, "the clean loss of max-margin", clean, cosines)
		u := hidden.Div(hidden.Norm(1, true)).MatMul(table.Transpose(0, 1)).Float64s()
		ids, wrong := targets.Int64s(), o.Negatives.Int64s()
		want := 0.0
		for i, c := range cosines.Float64s() {
			if !(c >= -1e-12 && c <= 2+1e-12) {
				t.Errorf("row %d: the cosine loss is %v", i, c)
			}
			if ids[i] == o.Ignore {
				continue
			}
			margin := max(0, 0.5+u[i*40+int(wrong[i])]-u[i*40+int(ids[i])])
			if margin > 2.5 {
				t.Errorf("row %d: the margin is %v", i, margin)
			}
			want += margin
		}
		loss, _ := torch.ContinuousLoss(hidden, table, targets, o)
		within(t, "max-margin", loss.Item(), want*o.Scale, 1e-12)
	})
}

// TestInformativeNegatives compares with the definition: the largest cos(h, e_j) - cos(e, e_j)
// over all vectors but the target and those that the bias keeps out.
func TestInformativeNegatives(t *testing.T) {
	torch.Test(t, func() {
		const n, m, v = 1100, 6, 37
		var o torch.ContinuousLossOptions
		hidden, table, targets := lossOperands(n, m, v, &o)
		bias := withoutVector(table)
		got := torch.InformativeNegatives(hidden, table, bias, targets, o.Ignore).Int64s()
		near32 := torch.InformativeNegatives(hidden.To(torch.Float32, device), table, bias, targets, o.Ignore).Int64s()
		u := hidden.Div(hidden.Norm(1, true)).MatMul(table.Transpose(0, 1)).Float64s()
		own := table.MatMul(table.Transpose(0, 1)).Float64s()
		differ := 0
		for i, y := range targets.Int64s() {
			if y == o.Ignore {
				continue
			}
			best, at := math.Inf(-1), int64(-1)
			for j := int64(1); j < v; j++ {
				if score := u[int64(i)*v+j] - own[y*v+j]; j != y && score > best {
					best, at = score, j
				}
			}
			if got[i] != at {
				t.Fatalf("row %d with target %d: the negative is %d, want %d", i, y, got[i], at)
			}
			if near32[i] != at {
				differ++
			}
		}
		if differ > 2 {
			t.Errorf("float32 hidden states have %d other negatives", differ)
		}
		one := torch.InformativeNegatives(hidden, table.Narrow(0, 1, 1), torch.Zeros(torch.Float64, device, 1),
			torch.Zeros(torch.Int64, device, n), -1)
		for _, j := range one.Int64s() {
			if j != -1 {
				t.Fatalf("a vocabulary of one word has the negative %d", j)
			}
		}
		zero := torch.InformativeNegatives(hidden.MulScalar(0), table, bias, targets, o.Ignore).Int64s()
		for i, j := range zero {
			if j < 1 {
				t.Fatalf("row %d of zeros: the negative is %d", i, j)
			}
		}
	})
}
