package torch_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestElementaryValues checks the operators that have no golden case by hand.
func TestElementaryValues(t *testing.T) {
	torch.Test(t, func() {
		of := func(values ...float64) torch.Tensor {
			return torch.FromFloat64s(values, device, int64(len(values)))
		}
		matrix := func(values ...float64) torch.Tensor { return of(values...).Reshape(2, -1) }
		x, y := of(-2.5, -1, 0, 3), of(-2.5, 2, -0.5, 3)
		a, b := torch.FromBools([]bool{true, true, false}, device, 3),
			torch.FromBools([]bool{true, false, false}, device, 3)
		large := torch.FromInt64s([]int64{1<<24 + 1, 3}, device, 2) // float32 does not hold the first
		values, vectors := matrix(2, 0, 0, -1).Eigh()
		for what, test := range map[string]struct {
			got  torch.Tensor
			want torch.Tensor
		}{
			"Abs":             {x.Abs(), of(2.5, 1, 0, 3)},
			"AddScalar":       {x.AddScalar(0.5), of(-2, -0.5, 0.5, 3.5)},
			"MulScalar":       {x.MulScalar(-2), of(5, 2, 0, -6)},
			"Pow":             {of(4, 9).Pow(1.5), of(8, 27)},
			"ClampMin":        {x.ClampMin(-1), of(-1, -1, 0, 3)},
			"ClampMax":        {x.ClampMax(0), of(-2.5, -1, 0, 0)},
			"integers plus":   {large.AddScalar(1), of(1<<24+2, 4)},
			"integers times":  {large.MulScalar(-1), of(-1<<24-1, -3)},
			"integers from":   {large.ClampMin(4), of(1<<24+1, 4)},
			"integers up to":  {large.ClampMax(1 << 25), of(1<<24+1, 3)},
			"integers equal":  {large.EqualScalar(1 << 24), of(0, 0)},
			"half an integer": {large.Narrow(0, 1, 1).MulScalar(0.5), of(1.5)},
			"Equal":           {x.Equal(y), of(1, 0, 0, 1)},
			"EqualScalar":     {x.EqualScalar(-1), of(0, 1, 0, 0)},
			"Less":            {x.Less(y), of(0, 1, 0, 0)},
			"Maximum":         {x.Maximum(y), of(-2.5, 2, 0, 3)},
			"Not":             {a.Not(), of(0, 0, 1)},
			"Or":              {a.Or(b), of(1, 1, 0)},
			"Nonzero":         {matrix(0, 1, 2, 0).Nonzero(), matrix(0, 1, 1, 0)},
			"Stack":           {torch.Stack([]torch.Tensor{x, y}, 1).Reshape(-1), of(-2.5, -2.5, -1, 2, 0, -0.5, 3, 3)},
			"Expand":          {of(1, 2).Reshape(2, 1).Expand(2, 3), matrix(1, 1, 1, 2, 2, 2)},
			"Permute":         {matrix(1, 2, 3, 4, 5, 6).Permute(1, 0), of(1, 4, 2, 5, 3, 6).Reshape(3, 2)},
			"Permute nothing": {x.Sum().Permute(), x.Sum()},
			"Contiguous":      {matrix(1, 2, 3, 4).Transpose(0, 1).Contiguous(), matrix(1, 3, 2, 4)},
			"ScatterRows": {matrix(1, 2, 3, 4).ScatterRows(torch.FromInt64s([]int64{2, 0}, device, 2), 3),
				of(3, 4, 0, 0, 1, 2).Reshape(3, 2)},
			"Arange":         {torch.Arange(3, device), of(0, 1, 2)},
			"Arange nothing": {torch.Arange(0, device), of()},
			"Full":           {torch.Full(1, torch.Bool, device, 2), of(1, 1)},
			"SingularValues": {matrix(0, 3, -4, 0).SingularValues(), of(4, 3)},
			"eigenvalues":    {values, of(-1, 2)},
			"eigenvectors":   {vectors.Abs(), matrix(0, 1, 1, 0)},
			"To":             {x.To(torch.Int64, device), of(-2, -1, 0, 3)},
		} {
			if fmt.Sprint(test.got.Shape()) != fmt.Sprint(test.want.Shape()) {
				t.Errorf("%s has shape %v, want %v", what, test.got.Shape(), test.want.Shape())
				continue
			}
			got, want := test.got.Float64s(), test.want.Float64s()
			for i := range want {
				if math.Abs(got[i]-want[i]) > 1e-12 {
					t.Errorf("%s is %v, want %v", what, got, want)
					break
				}
			}
		}
	})
}

// TestElementaryGradients compares those that are differentiable with differences.
func TestElementaryGradients(t *testing.T) {
	torch.Test(t, func() {
		draw := torch.NewStream(3, "inputs")
		normal := func(shape ...int64) torch.Tensor { return draw.Normal(0, 1, torch.Float64, device, shape...) }
		weights := normal(4, 3)
		rows := torch.FromInt64s([]int64{2, 0, 5, 3}, device, 4)
		for what, f := range map[string]func(x, y torch.Tensor) torch.Tensor{
			"Abs":       func(x, y torch.Tensor) torch.Tensor { return x.Abs() },
			"AddScalar": func(x, y torch.Tensor) torch.Tensor { return x.AddScalar(2) },
			"MulScalar": func(x, y torch.Tensor) torch.Tensor { return x.MulScalar(-3) },
			"Pow":       func(x, y torch.Tensor) torch.Tensor { return x.Pow(3) },
			"ClampMin":  func(x, y torch.Tensor) torch.Tensor { return x.ClampMin(0.1) },
			"ClampMax":  func(x, y torch.Tensor) torch.Tensor { return x.ClampMax(0.1) },
			"Maximum":   func(x, y torch.Tensor) torch.Tensor { return x.Maximum(y) },
			"Stack": func(x, y torch.Tensor) torch.Tensor {
				return torch.Stack([]torch.Tensor{x, y},
					0).SumDim(0, false)
			},
			"Expand": func(x, y torch.Tensor) torch.Tensor { return x.Narrow(0, 1, 1).Expand(4, 3) },
			"Clone":  func(x, y torch.Tensor) torch.Tensor { return x.Clone() },
			"Contiguous": func(x, y torch.Tensor) torch.Tensor {
				return x.Reshape(3, 4).Transpose(0,
					1).Contiguous()
			},
			"ScatterRows":    func(x, y torch.Tensor) torch.Tensor { return x.ScatterRows(rows, 7).Narrow(0, 1, 4) },
			"To":             func(x, y torch.Tensor) torch.Tensor { return x.To(torch.Float64, device) },
			"SingularValues": func(x, y torch.Tensor) torch.Tensor { return x.SingularValues() },
			"QR": func(x, y torch.Tensor) torch.Tensor {
				q, r := x.QR()
				return q.MatMul(r.Square())
			},
			"Eigh": func(x, y torch.Tensor) torch.Tensor {
				values, vectors := x.Transpose(0, 1).MatMul(x).Eigh()
				return vectors.Abs().MulScalar(0.5).Add(values)
			},
		} {
			checkGradients(t, what, []torch.Tensor{normal(4, 3), normal(4, 3)}, func(in []torch.Tensor) torch.Tensor {
				y := f(in[0], in[1])
				// The other input takes part by nothing, so that each has a gradient.
				return y.Mul(weights.Reshape(-1).Narrow(0, 0, y.Count()).Reshape(y.Shape()...)).Sum().Add(
					in[1].MulScalar(0).Sum())
			})
		}
	})
}

// TestGELUTanhEqualsReference: value and gradient, where the function is near 0, near x, and between.
func TestGELUTanhEqualsReference(t *testing.T) {
	torch.Test(t, func() {
		draw := torch.NewStream(3, "inputs")
		values := torch.Cat([]torch.Tensor{draw.Normal(0, 1.5, torch.BFloat16, device, 1000),
			draw.Normal(0, 30, torch.BFloat16, device, 33)}, 0)
		results := func(f func(torch.Tensor) torch.Tensor, dtype torch.DType) (y, gradient torch.Tensor) {
			x := values.To(dtype, device).Clone().Detach()
			x.SetRequiresGrad(true)
			y = f(x)
			y.Sum().Backward()
			return y, x.Grad()
		}
		wantY, wantGradient := results(torch.Tensor.GELUTanhReference, torch.Float64)
		for dtype, limit := range map[torch.DType]float64{torch.Float64: 1e-14, torch.Float32: 3e-6, torch.BFloat16: 5e-3} {
			y, gradient := results(torch.Tensor.GELUTanh, dtype)
			for i, got := range y.Float64s() {
				if want := wantY.Float64s()[i]; math.Abs(got-want) > limit*math.Max(1, math.Abs(want)) {
					t.Errorf("%v: %v at %v, want %v", dtype, got, values.Float64s()[i], want)
				}
			}
			nearWithin(t, dtype.String()+", gradient", gradient, wantGradient, limit)
		}
	})
}

// TestGELUTanhOfHugeNumbers: GELU is 0 far below 0, and the number itself far above, whatever its square is.
func TestGELUTanhOfHugeNumbers(t *testing.T) {
	ofCPU(t)
	torch.Test(t, func() {
		for _, dtype := range []torch.DType{torch.Float32, torch.BFloat16} {
			for _, size := range []float64{20, 1e6, 1e13, 1e20, 1e38} {
				x := torch.FromFloat64s([]float64{-size, size}, device, 2).To(dtype, device)
				x.SetRequiresGrad(true)
				y := x.GELUTanh()
				y.Sum().Backward()
				below, above := y.Float64s()[0], y.Float64s()[1]/x.Float64s()[1]
				slope := x.Grad().Float64s()
				if math.Abs(below) > 1e-30 || above != 1 || math.Abs(slope[0]) > 1e-30 || slope[1] != 1 {
					t.Errorf("%v, %v: values of %v and %v times it, slopes %v", dtype, size, below, above, slope)
				}
			}
		}
	})
}

func TestSVD(t *testing.T) {
	torch.Test(t, func() {
		for _, shape := range [][2]int64{{7, 4}, {4, 7}, {3, 3}, {1, 1}} {
			x := torch.NewStream(3, "inputs").Normal(0, 1, torch.Float64, device, shape[0], shape[1])
			u, s, vh := x.SVD()
			near(t, "u diag(s) vh", u.Mul(s).MatMul(vh), x)
			near(t, "values", s, x.SingularValues())
			k := min(shape[0], shape[1])
			index := torch.Arange(k, device)
			identity := index.Reshape(k, 1).Equal(index.Reshape(1, k)).To(torch.Float64, device)
			near(t, "u^T u", u.Transpose(0, 1).MatMul(u), identity)
			near(t, "vh vh^T", vh.MatMul(vh.Transpose(0, 1)), identity)
		}
	})
}

func TestQR(t *testing.T) {
	torch.Test(t, func() {
		x := torch.NewStream(3, "inputs").Normal(0, 1, torch.Float64, device, 7, 4)
		q, r := x.QR()
		near(t, "q r", q.MatMul(r), x)
		identity := torch.Zeros(torch.Float64, device, 4, 4)
		for i := range int64(4) {
			identity.Narrow(0, i, 1).Narrow(1, i, 1).Assign(torch.Full(1, torch.Float64, device, 1))
		}
		near(t, "q^T q", q.Transpose(0, 1).MatMul(q), identity)
	})
}

func TestTensorBasics(t *testing.T) {
	torch.Test(t, func() {
		x := torch.Zeros(torch.Float32, device, 4, 0, 7)
		if x.Rank() != 3 || x.Count() != 0 || x.Size(-1) != 7 || x.Size(1) != 0 ||
			!slices.Equal(x.Shape(), []int64{4, 0, 7}) || len(x.Float32s()) != 0 {
			t.Error("the sizes of an empty tensor are wrong")
		}
		scalar := torch.Full(2, torch.Float64, device)
		if scalar.Rank() != 0 || scalar.Count() != 1 || scalar.Item() != 2 {
			t.Error("a tensor without dimensions is wrong")
		}
		for dtype, name := range map[torch.DType]string{torch.Int64: "int64", torch.Float32: "float32",
			torch.Float64: "float64", torch.Bool: "bool", torch.BFloat16: "bfloat16", torch.Float16: "float16",
			3: "dtype(3)"} {
			if x := torch.Full(1, dtype, device, 1); dtype.String() != name || x.DType() != dtype || x.Item() != 1 {
				t.Errorf("%v: a tensor of ones is %v of %v", dtype, x.Item(), x.DType())
			}
		}
		ids := torch.FromInt64s([]int64{1 << 60, -1}, device, 2)
		if got := ids.Int64s(); got[0] != 1<<60 || got[1] != -1 {
			t.Errorf("int64 came back as %v", got)
		}
		ids.AssignFloat32s([]float32{3, -4}) // converted, not copied by its bits
		if got := ids.Int64s(); got[0] != 3 || got[1] != -4 {
			t.Errorf("float32 was assigned to int64 as %v", got)
		}
		turned := torch.Zeros(torch.Float32, device, 2, 3).Transpose(0, 1)
		turned.AssignFloat32s([]float32{1, 2, 3, 4, 5, 6})
		if got := turned.Float32s(); !slices.Equal(got, []float32{1, 2, 3, 4, 5, 6}) {
			t.Errorf("a transposed tensor holds %v", got)
		}
	})
}

func TestParams(t *testing.T) {
	torch.Test(t, func() {
		var p torch.Params
		defer p.Free()
		p.Add("b", torch.Zeros(torch.Float32, device, 2))
		p.Add("a", torch.Zeros(torch.Float32, device, 3, 1))
		if !slices.Equal(p.Names(), []string{"b", "a"}) || p.Count() != 5 || len(p.Map()) != 2 ||
			p.Tensors()[1] != p.Get("a") || p.Get("c").Defined() {
			t.Error("the parameters are not those that were added, in that order")
		}
		two := torch.FromFloat64s([]float64{1, 2}, device, 2)
		three := torch.Full(3, torch.Float32, device, 3, 1)
		for want, values := range map[string]map[string]torch.Tensor{
			"the parameter a is missing":                           {"b": two},
			"the parameter a has shape [2], the model needs [3 1]": {"a": two, "b": two},
			"the model has no parameter c":                         {"a": three, "b": two, "c": two},
		} {
			if err := p.Load(values); err == nil || err.Error() != want {
				t.Errorf("the error is %v, want %s", err, want)
			}
			if p.Get("b").Float32s()[0] != 0 {
				t.Error("a refused list of values changed a parameter")
			}
		}
		if err := p.Load(map[string]torch.Tensor{"a": three, "b": two}); err != nil {
			t.Fatal(err)
		}
		if got := p.Get("b").Float32s(); !slices.Equal(got, []float32{1, 2}) || !p.Get("b").RequiresGrad() {
			t.Errorf("the loaded parameter is %v", got)
		}
	})
}

// TestSplit cuts a matrix into parts, one of them empty, and gathers their
// gradients, one of which is missing.
func TestSplit(t *testing.T) {
	torch.Test(t, func() {
		x := torch.Arange(15, device).To(torch.Float64, device).Reshape(5, 3).Clone()
		x.SetRequiresGrad(true)
		parts := x.Split(0, 2, 0, 1, 2)
		if len(parts) != 4 || !slices.Equal(parts[1].Shape(), []int64{0, 3}) {
			t.Fatalf("%d parts, the second of shape %v", len(parts), parts[1].Shape())
		}
		near(t, "last part", parts[3], torch.FromFloat64s([]float64{9, 10, 11, 12, 13, 14}, device, 2, 3))
		parts[0].MulScalar(2).Sum().Add(parts[3].Square().Sum()).Backward()
		near(t, "gradient", x.Grad(), torch.FromFloat64s([]float64{2, 2, 2, 2, 2, 2, 0, 0, 0, 18, 20, 22, 24, 26, 28},
			device, 5, 3))
		near(t, "column", x.Split(1, 1, 2)[1].Narrow(0, 4, 1), torch.FromFloat64s([]float64{13, 14}, device, 1, 2))
		if err := torch.Try(func() error { x.Split(0, 2, 2); return nil }); err == nil {
			t.Error("parts that leave a row over are no error")
		}
	})
}

// TestStatesFrom: states of a network that does not say where rows come from lose rows as others do.
func TestStatesFrom(t *testing.T) {
	torch.Test(t, func() {
		hidden := torch.Arange(6, device).Reshape(3, 2)
		for _, s := range []torch.States{{Hidden: hidden}, {Hidden: hidden, Time: []int64{0, 1, 2}, Column: []int64{5, 6, 7}}} {
			rest := s.From(2)
			near(t, "hidden", rest.Hidden, hidden.Narrow(0, 2, 1))
			if s.Time != nil && (rest.Time[0] != 2 || rest.Column[0] != 7) || s.Time == nil && len(rest.Time) != 0 {
				t.Errorf("rows of times %v and columns %v are left", rest.Time, rest.Column)
			}
		}
	})
}
