package torch_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// settings are the parameters that a golden case of an operator may have.
type settings struct {
	Dim, Dim0, Dim1  int
	KeepDim          bool
	K                int
	Start, Length    int64
	Dims             []int64
	Padding, Ignored int64
	Eps, Value       float64
	Causal, PadKeys  bool
	TransposeFirst   bool
	TransposeSecond  bool
	WholeTensor      bool // no dim is given
}

func settingsOf(t *testing.T, text string) settings {
	t.Helper()
	var named map[string]any
	if err := json.Unmarshal([]byte(text), &named); err != nil {
		t.Fatal(err)
	}
	var s settings
	number := func(v any) float64 { return v.(float64) }
	_, hasDim := named["dim"]
	s.WholeTensor = !hasDim
	for key, v := range named {
		switch key {
		case "dim":
			s.Dim = int(number(v))
		case "dim0":
			s.Dim0 = int(number(v))
		case "dim1":
			s.Dim1 = int(number(v))
		case "keepdim":
			s.KeepDim = v.(bool)
		case "k":
			s.K = int(number(v))
		case "start":
			s.Start = int64(number(v))
		case "length":
			s.Length = int64(number(v))
		case "dims":
			for _, d := range v.([]any) {
				s.Dims = append(s.Dims, int64(number(d)))
			}
		case "padding":
			if on, isBool := v.(bool); isBool {
				s.PadKeys = on
			} else {
				s.Padding = int64(number(v))
			}
		case "ignored":
			s.Ignored = int64(number(v))
		case "eps":
			s.Eps = number(v)
		case "value":
			s.Value = number(v)
		case "causal":
			s.Causal = v.(bool)
		case "transpose_first":
			s.TransposeFirst = v.(bool)
		case "transpose_second":
			s.TransposeSecond = v.(bool)
		case "p", "largest", "sorted": // the only ones that the package has: Euclidean, falling
		default:
			t.Fatalf("unknown setting %s of a golden case", key)
		}
	}
	return s
}

func boolean(x torch.Tensor) torch.Tensor { return x.To(torch.Bool, device) }

// operators computes golden cases by the operator that they are named after.
var operators = map[string]func(in []torch.Tensor, s settings) []torch.Tensor{
	"add":     func(in []torch.Tensor, s settings) []torch.Tensor { return one(in[0].Add(in[1])) },
	"sub":     func(in []torch.Tensor, s settings) []torch.Tensor { return one(in[0].Sub(in[1])) },
	"mul":     func(in []torch.Tensor, s settings) []torch.Tensor { return one(in[0].Mul(in[1])) },
	"div":     func(in []torch.Tensor, s settings) []torch.Tensor { return one(in[0].Div(in[1])) },
	"neg":     func(in []torch.Tensor, s settings) []torch.Tensor { return one(in[0].Neg()) },
	"exp":     func(in []torch.Tensor, s settings) []torch.Tensor { return one(in[0].Exp()) },
	"log":     func(in []torch.Tensor, s settings) []torch.Tensor { return one(in[0].Log()) },
	"sqrt":    func(in []torch.Tensor, s settings) []torch.Tensor { return one(in[0].Sqrt()) },
	"square":  func(in []torch.Tensor, s settings) []torch.Tensor { return one(in[0].Square()) },
	"tanh":    func(in []torch.Tensor, s settings) []torch.Tensor { return one(in[0].Tanh()) },
	"sigmoid": func(in []torch.Tensor, s settings) []torch.Tensor { return one(in[0].Sigmoid()) },
	"relu":    func(in []torch.Tensor, s settings) []torch.Tensor { return one(in[0].Relu()) },
	"masked_fill": func(in []torch.Tensor, s settings) []torch.Tensor {
		return one(in[0].MaskedFill(boolean(in[1]), s.Value))
	},
	"sum":     func(in []torch.Tensor, s settings) []torch.Tensor { return one(in[0].Sum()) },
	"sum_dim": func(in []torch.Tensor, s settings) []torch.Tensor { return one(in[0].SumDim(s.Dim, s.KeepDim)) },
	"mean": func(in []torch.Tensor, s settings) []torch.Tensor {
		if s.WholeTensor {
			return one(in[0].Mean())
		}
		return one(in[0].MeanDim(s.Dim, s.KeepDim))
	},
	"amax": func(in []torch.Tensor, s settings) []torch.Tensor { return one(in[0].MaxDim(s.Dim, s.KeepDim)) },
	"norm": func(in []torch.Tensor, s settings) []torch.Tensor {
		if s.WholeTensor {
			return one(in[0].Reshape(-1).Norm(0, false))
		}
		return one(in[0].Norm(s.Dim, s.KeepDim))
	},
	"logsumexp": func(in []torch.Tensor, s settings) []torch.Tensor { return one(in[0].LogSumExp(s.Dim, s.KeepDim)) },
	"cumsum":    func(in []torch.Tensor, s settings) []torch.Tensor { return one(in[0].CumSum(s.Dim)) },
	"argmax":    func(in []torch.Tensor, s settings) []torch.Tensor { return one(in[0].ArgMax(s.Dim)) },
	"topk": func(in []torch.Tensor, s settings) []torch.Tensor {
		values, indices := in[0].TopK(s.K, s.Dim)
		return []torch.Tensor{values, indices}
	},
	"matmul": func(in []torch.Tensor, s settings) []torch.Tensor {
		a, b := in[0], in[1]
		if s.TransposeFirst {
			a = a.Transpose(0, 1)
		}
		if s.TransposeSecond {
			b = b.Transpose(0, 1)
		}
		return one(a.MatMul(b))
	},
	"bmm": func(in []torch.Tensor, s settings) []torch.Tensor { return one(in[0].MatMul(in[1])) },
	"linear": func(in []torch.Tensor, s settings) []torch.Tensor {
		var bias torch.Tensor
		if len(in) == 3 {
			bias = in[2]
		}
		return one(torch.Linear(in[0], in[1], bias))
	},
	"embedding": func(in []torch.Tensor, s settings) []torch.Tensor {
		return one(torch.Embedding(in[0], in[1], s.Padding))
	},
	"cat":          func(in []torch.Tensor, s settings) []torch.Tensor { return one(torch.Cat(in, s.Dim)) },
	"index_select": func(in []torch.Tensor, s settings) []torch.Tensor { return one(in[0].IndexSelect(s.Dim, in[1])) },
	"gather":       func(in []torch.Tensor, s settings) []torch.Tensor { return one(in[0].Gather(s.Dim, in[1])) },
	"transpose":    func(in []torch.Tensor, s settings) []torch.Tensor { return one(in[0].Transpose(s.Dim0, s.Dim1)) },
	"permute":      func(in []torch.Tensor, s settings) []torch.Tensor { return one(in[0].Permute(s.Dims...)) },
	"narrow": func(in []torch.Tensor, s settings) []torch.Tensor {
		return one(in[0].Narrow(s.Dim, s.Start, s.Length))
	},
	"layer_norm": func(in []torch.Tensor, s settings) []torch.Tensor {
		return one(torch.LayerNorm(in[0], in[1], in[2], s.Eps))
	},
	"softmax":     func(in []torch.Tensor, s settings) []torch.Tensor { return one(in[0].Softmax(s.Dim)) },
	"log_softmax": func(in []torch.Tensor, s settings) []torch.Tensor { return one(in[0].LogSoftmax(s.Dim)) },
	"cross_entropy": func(in []torch.Tensor, s settings) []torch.Tensor {
		ignored := in[1].EqualScalar(float64(s.Ignored))
		index := in[1].MaskedFill(ignored, 0).Reshape(-1, 1)
		return one(in[0].LogSoftmax(1).Gather(1, index).Reshape(-1).Neg().MaskedFill(ignored, 0))
	},
	"sdpa": func(in []torch.Tensor, s settings) []torch.Tensor {
		if !s.PadKeys {
			return one(torch.Attention(in[0], in[1], in[2], torch.Tensor{}, s.Causal))
		}
		batch, queries, keys := in[0].Size(0), in[0].Size(2), in[1].Size(2)
		mask := boolean(in[3]).Reshape(batch, 1, 1, keys)
		if s.Causal { // Attention takes a mask or causality, so the mask says both
			column := torch.Arange(queries, device).Reshape(queries, 1)
			row := torch.Arange(keys, device).Reshape(1, keys)
			mask = mask.Not().Or(column.Less(row)).Not()
		}
		return one(torch.Attention(in[0], in[1], in[2], mask, false))
	},
}

func one(x torch.Tensor) []torch.Tensor { return []torch.Tensor{x} }

// TestOperatorsEqualPyTorch checks every golden case in value and gradients, in
// the type it was recorded in.
func TestOperatorsEqualPyTorch(t *testing.T) {
	var names []string
	notes := map[string]string{}
	torch.Test(t, func() {
		tensors, metadata := golden(t, "operators.safetensors")
		notes = metadata
		cases := map[string]bool{}
		for name := range tensors {
			cases[name[:strings.LastIndexByte(name, '/')]] = true
		}
		for name := range cases {
			names = append(names, name)
		}
		slices.Sort(names)
	})
	if len(names) < 85 {
		t.Errorf("there are %d golden cases, expected 85", len(names))
	}
	used := map[string]bool{}
	for _, name := range names {
		kind, _, _ := strings.Cut(name, "/")
		compute, known := operators[kind]
		if !known {
			t.Errorf("no operator is known for the golden case %s", name)
			continue
		}
		used[kind] = true
		t.Run(name, func(t *testing.T) {
			torch.Test(t, func() { compareWithGolden(t, name, notes[name], compute) })
		})
	}
	for kind := range operators {
		if !used[kind] {
			t.Errorf("the operator %s has no golden case", kind)
		}
	}
}

func compareWithGolden(t *testing.T, name, note string, compute func([]torch.Tensor, settings) []torch.Tensor) {
	tensors, _ := golden(t, "operators.safetensors")
	var in []torch.Tensor
	for x, found := tensors[name+"/in0"]; found; x, found = tensors[fmt.Sprintf("%s/in%d", name, len(in))] {
		if x.DType() != torch.Int64 {
			x.SetRequiresGrad(true)
		}
		in = append(in, x)
	}
	out := compute(in, settingsOf(t, note))
	for i, got := range out {
		key := name + "/out"
		if i > 0 {
			key = fmt.Sprintf("%s%d", key, i)
		}
		want, found := tensors[key]
		if !found {
			t.Fatalf("there is no golden value %s", key)
		}
		if got.DType() != want.DType() || fmt.Sprint(got.Shape()) != fmt.Sprint(want.Shape()) {
			t.Fatalf("output %d is %v%v, want %v%v", i, got.DType(), got.Shape(), want.DType(), want.Shape())
		}
		near(t, fmt.Sprintf("output %d", i), got, want)
	}
	gradient, differentiable := tensors[name+"/gout"]
	if !differentiable {
		return
	}
	out[0].BackwardWith(gradient)
	for i, x := range in {
		want, found := tensors[fmt.Sprintf("%s/gin%d", name, i)]
		if found != (x.DType() != torch.Int64) {
			t.Fatalf("input %d of type %v: a golden gradient is there: %v", i, x.DType(), found)
		}
		if found {
			near(t, fmt.Sprintf("gradient of input %d", i), x.Grad(), want)
		}
	}
}

// TestLinearsEqualTheirReference: values and every gradient.
func TestLinearsEqualTheirReference(t *testing.T) {
	torch.Test(t, func() {
		for _, dtype := range []torch.DType{torch.Float32, torch.Float64} {
			results := func(linears func(x torch.Tensor, weights, biases []torch.Tensor) []torch.Tensor) (
				all []torch.Tensor) {
				draw := torch.NewStream(3, "linears")
				leaf := func(shape ...int64) torch.Tensor {
					x := draw.Normal(0, 1, dtype, device, shape...)
					x.SetRequiresGrad(true)
					return x
				}
				x := leaf(3, 5, 7)
				weights, biases := []torch.Tensor{leaf(4, 7), leaf(9, 7), leaf(1, 7)},
					[]torch.Tensor{leaf(4), leaf(9), leaf(1)}
				all = linears(x, weights, biases)
				sum := torch.Zeros(dtype, device)
				for _, y := range all {
					sum = sum.Add(y.Mul(draw.Normal(0, 1, dtype, device, y.Shape()...)).Sum())
				}
				sum.Backward()
				for _, leaf := range append(append(weights, biases...), x) {
					all = append(all, leaf.Grad())
				}
				return all
			}
			want := results(torch.LinearsReference)
			for i, got := range results(torch.Linears) {
				near(t, fmt.Sprintf("%v, result %d", dtype, i), got, want[i])
			}
		}
	})
}

// TestMasksByInfinity: a row that is all -Inf has no softmax, which must be seen
// as NaN and not as a number.
func TestMasksByInfinity(t *testing.T) {
	torch.Test(t, func() {
		x := torch.Full(math.Inf(-1), torch.Float32, device, 1, 3)
		if got := x.Softmax(1).Float64s()[0]; !math.IsNaN(got) {
			t.Errorf("softmax of a row of -Inf is %v, want NaN", got)
		}
		if x.AllFinite() || !torch.Zeros(torch.Float32, device, 2).AllFinite() {
			t.Error("AllFinite is wrong")
		}
	})
}
