package torch_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// normaliser is VMFNormaliser for a list of kappas.
func normaliser(m int64, kappa ...float64) (logC, ratio []float64) {
	c, a := torch.VMFNormaliser(torch.FromFloat64s(kappa, device, int64(len(kappa))), m)
	return c.Float64s(), a.Float64s()
}

// within fails unless got is want to an absolute limit.
func within(t *testing.T, what string, got, want, limit float64) {
	t.Helper()
	if d := math.Abs(got - want); !(d <= limit) {
		t.Errorf("%s is %.15g, want %.15g (difference %.3g, allowed %.3g)", what, got, want, d, limit)
	}
}

// TestVMFNormaliserOverTheGrid compares with 60 digits over m from 1 to 2048 and kappa
// from 0 to 1e5; the plain reference too, which is less exact where kappa is large.
func TestVMFNormaliserOverTheGrid(t *testing.T) {
	torch.Test(t, func() {
		g, _ := golden(t, "vmf.safetensors")
		kappa, wantC, wantA := g["kappa"].Float64s(), g["log_c"].Float64s(), g["ratio"].Float64s()
		for i, m := range g["m"].Int64s() {
			logC, a := normaliser(m, kappa...)
			for j, k := range kappa {
				c, r := wantC[i*len(kappa)+j], wantA[i*len(kappa)+j]
				at := fmt.Sprintf("m %d, kappa %v: ", m, k)
				within(t, at+"log C", logC[j], c, 5e-11)
				within(t, at+"A", a[j], r, 2e-14*r)
				plainC, plainA := torch.VMFNormaliserReference(k, m)
				within(t, at+"the reference's log C", plainC, c, 1e-9)
				within(t, at+"the reference's A", plainA, r, 1e-13*r)
			}
		}
	})
}

// Table of section "the log-Bessel problem", m = 300.
var table300 = []struct{ kappa, logI, logC, a float64 }{
	{0, math.Inf(-1), 427.60684049736, 0},
	{1, -703.28673380129, 427.60517383989, 0.0033332965423815},
	{5, -463.44049058602, 427.56517957730, 0.016662070216483},
	{10, -360.03664678118, 427.44026567589, 0.033296622039018},
	{15, -299.41438461551, 427.23230461833, 0.049876436772595},
	{30, -195.01734465741, 426.11419456367, 0.099025760266599},
	{50, -116.28579327802, 423.49566112542, 0.16230385332058},
	{100, -1.2589154334956, 411.74771318432, 0.30291625698156},
	{150, 77.209234709973, 393.69386414897, 0.41449920652805},
	{300, 259.88244310012, 314.29958566226, 0.61854369587454},
	{1000, 984.54171491199, -230.96773830506, 0.86155031551856},
}

func TestVMFTableOfBesselValues(t *testing.T) {
	torch.Test(t, func() {
		for _, row := range table300 {
			logC, a := normaliser(300, row.kappa)
			at := fmt.Sprintf("kappa %v: ", row.kappa)
			within(t, at+"log C", logC[0], row.logC, 1e-10)
			within(t, at+"A", a[0], row.a, 1e-13)
			logI := 149*math.Log(row.kappa) - 150*math.Log(2*math.Pi) - logC[0]
			if row.kappa > 0 {
				within(t, at+"log I", logI, row.logI, 1e-10)
			}
		}
		for m, want := range map[int64]float64{
			2: -1.8378770664093, 3: -2.5310242469693, 50: 25.473335071317, 100: 86.636102473315, 256: 344.33487565401,
			512: 867.96810316039, 1024: 2093.0272982659,
		} {
			logC, _ := normaliser(m, 0)
			within(t, fmt.Sprintf("m %d: log C(0)", m), logC[0], want, 1e-10)
		}
		for _, row := range []struct {
			m              int64
			kappa, logC, a float64
		}{{50, 10, 24.491675607642, 0.19283080165196}, {512, 50, 865.53814936875, 0.096745705070352},
			{1024, 100, 2088.1674342375, 0.096743994869947}} {
			logC, a := normaliser(row.m, row.kappa)
			within(t, fmt.Sprintf("m %d: log C(%v)", row.m, row.kappa), logC[0], row.logC, 1e-10)
			within(t, fmt.Sprintf("m %d: A(%v)", row.m, row.kappa), a[0], row.a, 1e-14)
		}
	})
}

// TestVMFClosedForms: on the circle's two neighbours, one and three components, the
// density has elementary functions.
func TestVMFClosedForms(t *testing.T) {
	torch.Test(t, func() {
		for _, k := range []float64{1e-3, 0.5, 1, 3, 10, 100, 600} {
			logC, a := normaliser(3, k)
			logSinh := k + math.Log1p(-math.Exp(-2*k)) - math.Ln2
			within(t, fmt.Sprintf("m 3: log C(%v)", k), logC[0], math.Log(k/(4*math.Pi))-logSinh, 1e-11)
			if k > 0.1 {
				within(t, fmt.Sprintf("m 3: A(%v)", k), a[0], 1/math.Tanh(k)-1/k, 1e-14)
			}
			logC, a = normaliser(1, k)
			within(t, fmt.Sprintf("m 1: log C(%v)", k), logC[0], -k-math.Log1p(math.Exp(-2*k)), 1e-11)
			within(t, fmt.Sprintf("m 1: A(%v)", k), a[0], math.Tanh(k), 1e-14)
		}
		_, a := normaliser(3, 10)
		within(t, "m 3: A(10)", a[0], 0.90000000412231, 1e-14)
	})
}

// TestVMFProperties: A rises from 0 towards 1, obeys its differential equation and
// stands between two bounds; -log C is increasing and convex.
func TestVMFProperties(t *testing.T) {
	torch.Test(t, func() {
		for _, m := range []int64{2, 3, 7, 41, 42, 43, 300, 2048} {
			var kappas []float64
			for i := range 400 {
				kappas = append(kappas, 1e-6*math.Exp(float64(i)*0.06345))
			}
			logC, a := normaliser(m, kappas...)
			var beside []float64 // below and above each
			for _, k := range kappas {
				beside = append(beside, k-1e-4*k, k+1e-4*k)
			}
			_, near := normaliser(m, beside...)
			d := float64(m)
			for i, k := range kappas {
				low, high := k/(d/2-0.5+math.Hypot(d/2+0.5, k)), k/(d/2-1+math.Hypot(d/2+1, k))
				if !(a[i] >= low*(1-1e-14) && a[i] <= high*(1+1e-14) && a[i] < 1+1e-15) {
					t.Errorf("m %d: A(%v) is %v, outside [%v, %v]", m, k, a[i], low, high)
				}
				if i == 0 {
					continue
				}
				if !(a[i] > a[i-1]) || !(logC[i] <= logC[i-1]) {
					t.Errorf("m %d: A or -log C falls between %v and %v", m, kappas[i-1], k)
				}
				slope := 1 - a[i]*a[i] - (d-1)*a[i]/k
				within(t, fmt.Sprintf("m %d: A'(%v)", m, k), (near[2*i+1]-near[2*i])/(2e-4*k), slope,
					1e-6*math.Abs(slope)+2e-10/k)
			}
		}
	})
}

// TestVMFGradient: the gradient of log C is -A, and reaches kappa in its own type.
func TestVMFGradient(t *testing.T) {
	torch.Test(t, func() {
		for _, m := range []int64{2, 30} {
			x := torch.FromFloat64s([]float64{0.01, 0.7, 4, 17.3, 60, 300}, device, 2, 3)
			weights := torch.FromFloat64s([]float64{1, -2, 3, 0.5, 7, 1}, device, 2, 3)
			checkGradients(t, fmt.Sprint("m ", m), []torch.Tensor{x}, func(in []torch.Tensor) torch.Tensor {
				logC, _ := torch.VMFNormaliser(in[0], m)
				return logC.Mul(weights).Sum()
			})
		}
		for _, k := range []float64{0.01, 0.7, 4, 17.3, 60, 300} { // hundreds of nats: the step must be wide
			logC, a := normaliser(300, k-1e-3, k, k+1e-3)
			within(t, fmt.Sprintf("m 300: A(%v)", k), (logC[0]-logC[2])/2e-3, a[1], 1e-9)
		}
		x := torch.FromFloat32s([]float32{3, 0}, device, 2)
		x.SetRequiresGrad(true)
		logC, a := torch.VMFNormaliser(x, 300)
		logC.Sum().Backward()
		if g := x.Grad(); g.DType() != torch.Float32 || logC.DType() != torch.Float64 || a.RequiresGrad() {
			t.Errorf("the gradient is %v, log C %v", g.DType(), logC.DType())
		}
		near(t, "gradient", x.Grad(), a.Neg())
	})
}

// TestVMFDensityIntegratesToOne: over the cosine, the surface of the sphere of m
// components has weight S (1 - c^2)^((m-3)/2), S = 2 pi^((m-1)/2)/Gamma((m-1)/2).
func TestVMFDensityIntegratesToOne(t *testing.T) {
	torch.Test(t, func() {
		for _, m := range []int64{3, 16, 300, 1024} {
			for _, kappa := range []float64{0, 0.3, 15, 100, 1000} {
				logC, _ := normaliser(m, kappa)
				gamma, _ := math.Lgamma(float64(m-1) / 2)
				logS := math.Ln2 + float64(m-1)/2*math.Log(math.Pi) - gamma
				const steps = 200000
				sum := 0.0
				for i := range steps { // midpoints
					c := -1 + (float64(i)+0.5)*2/steps
					sum += math.Exp(logC[0]+kappa*c+logS+float64(m-3)/2*math.Log1p(-c*c)) * 2 / steps
				}
				within(t, fmt.Sprintf("m %d, kappa %v: the integral", m, kappa), sum, 1, 1e-5)
			}
		}
	})
}

// TestVMFNormaliserAtTheEdges: nothing overflows, vanishes or becomes no number; the
// normaliser is even in kappa.
func TestVMFNormaliserAtTheEdges(t *testing.T) {
	torch.Test(t, func() {
		for _, m := range []int64{1, 2, 42, 300, 1 << 20} {
			logC, a := normaliser(m, 0, 5e-324, 1e-200, 1e20, 1e155, 1e307, math.Inf(1), -3, 3)
			for i, v := range logC {
				if math.IsNaN(v) || math.IsNaN(a[i]) || a[i] > 1 || (i != 6 && math.IsInf(v, 0)) {
					t.Errorf("m %d, case %d: log C is %v, A is %v", m, i, v, a[i])
				}
			}
			if logC[7] != logC[8] || a[7] != -a[8] || !math.IsInf(logC[6], -1) || a[6] != 1 {
				t.Errorf("m %d: log C(-3) = %v, log C(3) = %v, A %v and %v; at infinity %v and %v", m, logC[7], logC[8],
					a[7], a[8], logC[6], a[6])
			}
			within(t, fmt.Sprint("m ", m, ": log C(1e20)/-1e20"), logC[3]/-1e20, 1, 1e-12)
			if _, a := normaliser(m, math.NaN()); !math.IsNaN(a[0]) {
				t.Errorf("A of no number is %v", a[0])
			}
		}
		logC, _ := torch.VMFNormaliser(torch.Zeros(torch.Float32, device, 0, 3), 5)
		if logC.Count() != 0 {
			t.Errorf("log C of nothing has shape %v", logC.Shape())
		}
		var e *torch.Error
		if err := torch.Try(func() error { normaliser(0, 1); return nil }); !errors.As(err, &e) {
			t.Errorf("no components: the error is %v", err)
		}
		for _, bad := range []float64{-1, math.NaN(), math.Inf(1)} {
			if err := torch.Try(func() error { torch.VMFNormaliserReference(bad, 3); return nil }); !errors.As(err, &e) {
				t.Errorf("the reference of %v: the error is %v", bad, err)
			}
		}
	})
}
