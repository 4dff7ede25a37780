package torch_test

import (
	"math"
	"os"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// Legend: V a number of rows whose elements are more than 2^31, D their width, K the last rows, which alone are not 0.

const (
	hugeRows_V  = 1<<21 + 7
	hugeWidth_D = 1024
	tailRows_K  = 5
	hugeBytes   = 4 * hugeRows_V * hugeWidth_D
)

// hugeOperators are operators on a float32 operand [V,D] of more than 2^31 elements, which ends with tail [K,D]. They
// compare the result with that of the tail.
var hugeOperators = map[string]struct {
	operands float64 // that memory holds at once, with results and copies of that size
	compare  func(t *testing.T, x_VD, tail_KD torch.Tensor)
}{
	"GELUTanh": {2, func(t *testing.T, x_VD, tail_KD torch.Tensor) {
		nearWithin(t, "the last rows", last(x_VD.GELUTanh()), tail_KD.GELUTanh(), 1e-6)
	}},
	"Dropout": {2, func(t *testing.T, x_VD, tail_KD torch.Tensor) {
		const rate = 0.3
		kept, x := last(torch.Dropout(x_VD, rate, torch.NewStream(1, "dropout"))).Float64s(), tail_KD.Float64s()
		zeros := 0
		for i, y := range kept {
			if y == 0 {
				zeros++
			} else if math.Abs(y-x[i]/(1-rate)) > 1e-5 {
				t.Fatalf("element %d of the last rows became %g of %g", i, y, x[i])
			}
		}
		if share := float64(zeros) / float64(len(x)); math.Abs(share-rate) > 0.03 {
			t.Errorf("%.3f of the last rows are dropped", share)
		}
	}},
	"SoftmaxLoss of a large vocabulary": {1, func(t *testing.T, x_VD, tail_KD torch.Tensor) {
		hidden := torch.NewStream(2, "hidden").Normal(0, 1, torch.Float32, device, 3, hugeWidth_D)
		targets := torch.FromInt64s([]int64{hugeRows_V - 1, hugeRows_V - 4, 2}, device, 3)
		hidden.SetRequiresGrad(true)
		loss, nll := torch.SoftmaxLoss(hidden, x_VD, torch.Tensor{}, targets, torch.SoftmaxLossOptions{Ignore: -1, Scale: 1})
		loss.Backward()
		logits := hidden.Detach().MatMul(tail_KD.Transpose(0, 1)).Float64s() // [3,K]; all others are 0
		want := make([]float64, 3)
		weights := make([]float64, 3*tailRows_K) // of the tail's rows in the gradient
		for i, at := range []int{tailRows_K - 1, tailRows_K - 4, -1} {
			row := logits[i*tailRows_K : (i+1)*tailRows_K]
			sum := float64(hugeRows_V - tailRows_K)
			for _, x := range row {
				sum += math.Exp(x)
			}
			want[i] = math.Log(sum)
			for k, x := range row {
				weights[i*tailRows_K+k] = math.Exp(x) / sum
			}
			if at >= 0 {
				want[i] -= row[at]
				weights[i*tailRows_K+at]--
			}
		}
		nearWithin(t, "losses", nll, torch.FromFloat64s(want, device, 3), 1e-5)
		gradient := torch.FromFloat64s(weights, device, 3, tailRows_K).MatMul(tail_KD.To(torch.Float64, device))
		nearWithin(t, "gradient", hidden.Grad(), gradient, 1e-4)
	}},
	"SoftmaxLoss of many rows": {1, func(t *testing.T, x_VD, tail_KD torch.Tensor) {
		weight := torch.NewStream(3, "weight").Normal(0, 0.1, torch.Float32, device, 9, hugeWidth_D)
		o := torch.SoftmaxLossOptions{Ignore: -1, Scale: 1, Evaluate: true}
		ids := make([]int64, hugeRows_V)
		for i := range ids {
			if ids[i] = -1; i >= hugeRows_V-tailRows_K {
				ids[i] = int64(i % 9)
			}
		}
		loss, nll := torch.SoftmaxLoss(x_VD, weight, torch.Tensor{}, torch.FromInt64s(ids, device, hugeRows_V), o)
		small, each := torch.SoftmaxLoss(tail_KD, weight, torch.Tensor{},
			torch.FromInt64s(ids[hugeRows_V-tailRows_K:], device, tailRows_K), o)
		nearWithin(t, "loss", loss, small, 1e-5)
		nearWithin(t, "losses", last(nll), each, 1e-5)
	}},
	"CosinePenalty": {1, func(t *testing.T, x_VD, tail_KD torch.Tensor) {
		const share = float64(hugeRows_V) / tailRows_K // of rows; the penalty is a mean over pairs
		nearWithin(t, "penalty", torch.CosinePenalty(x_VD, share*share), torch.CosinePenalty(tail_KD, 1), 1e-5)
	}},
	"Gram": {1, func(t *testing.T, x_VD, tail_KD torch.Tensor) {
		const width = 64
		x := x_VD.Reshape(-1, width)
		want := tail_KD.Reshape(-1, width)
		nearWithin(t, "products of columns", x.Gram(), want.Transpose(0, 1).MatMul(want), 1e-4)
	}},
	"ContinuousLoss of a large table": {1, func(t *testing.T, x_VD, tail_KD torch.Tensor) {
		hidden := torch.NewStream(4, "hidden").Normal(0, 1, torch.Float32, device, 3, hugeWidth_D)
		o := torch.ContinuousLossOptions{Kind: torch.VMFNLL, Ignore: -1, Scale: 1}
		loss := func(table torch.Tensor) torch.Tensor {
			v := table.Size(0)
			_, nll := torch.ContinuousLoss(hidden, table, torch.FromInt64s([]int64{v - 1, v - 3, -1}, device, 3), o)
			return nll
		}
		nearWithin(t, "losses", loss(x_VD), loss(tail_KD), 1e-5)
	}},
	"Pack": {3, func(t *testing.T, x_VD, tail_KD torch.Tensor) { packedTail(t, torch.Pack, x_VD, tail_KD, 1e-4) }},
	"PackInt8": {2.3, func(t *testing.T, x_VD, tail_KD torch.Tensor) {
		packedTail(t, torch.PackInt8, x_VD, tail_KD, 0.1)
	}},
	"BeamTopK": {1, func(t *testing.T, x_VD, tail_KD torch.Tensor) {
		scores := x_VD.Reshape(hugeWidth_D, hugeRows_V) // [R,V]
		found := topOf(scores).FromLogProbs(scores)
		want := topOf(scores.Narrow(0, hugeWidth_D-1, 1)).FromLogProbs(scores.Narrow(0, hugeWidth_D-1, 1))
		n := len(found.IDs)
		for i, id := range want.IDs {
			if at := n - len(want.IDs) + i; found.IDs[at] != id || found.LogProbs[at] != want.LogProbs[i] {
				t.Errorf("the last row's candidate %d is word %d with %g, want %d with %g", i, found.IDs[at],
					found.LogProbs[at], id, want.LogProbs[i])
			}
		}
		if want.LogProbs[0] <= 0 || int64(want.IDs[0]) < hugeRows_V-tailRows_K*hugeWidth_D {
			t.Errorf("the best word of the last row is %d with %g", want.IDs[0], want.LogProbs[0])
		}
	}},
	"SGD": {2, func(t *testing.T, x_VD, tail_KD torch.Tensor) {
		want := tail_KD.AddScalar(-0.5)
		x_VD.SetRequiresGrad(true)
		x_VD.Sum().Backward()
		torch.SGD([]torch.Tensor{x_VD}, 0.5, 0)
		nearWithin(t, "the last rows", last(x_VD.Detach()), want, 1e-6)
	}},
}

// topOf takes the best three words of each row.
func topOf(scores torch.Tensor) torch.BeamTopK {
	rows := int(scores.Size(0))
	return torch.BeamTopK{Count: 3, Pad: -1, End: 0, Scores: make([]float64, rows), Rules: make([]torch.EndRule, rows)}
}

func packedTail(t *testing.T, pack func(torch.Tensor) torch.Packed, x_VD, tail_KD torch.Tensor, limit float64) {
	t.Helper()
	in := torch.NewStream(5, "in").Normal(0, 1, torch.Float32, device, 2, hugeWidth_D)
	out := pack(x_VD).Linear(in, torch.Tensor{}, false)
	nearWithin(t, "the last columns", out.Narrow(1, hugeRows_V-tailRows_K, tailRows_K).Contiguous(),
		in.MatMul(tail_KD.Transpose(0, 1)), limit)
}

// last are the last rows of a result.
func last(y torch.Tensor) torch.Tensor {
	return y.Narrow(0, hugeRows_V-tailRows_K, tailRows_K).Contiguous()
}

// TestHugeOperands: more than 2^31 elements overflow no index. With APERTURE_TEST_EVERYTHING=1, and as far as memory
// goes: 10 to 27 GB.
func TestHugeOperands(t *testing.T) {
	ofCPU(t)
	if os.Getenv("APERTURE_TEST_EVERYTHING") != "1" {
		t.Skip("APERTURE_TEST_EVERYTHING=1 tries tensors of 9 GB")
	}
	available, err := torch.AvailableMemory() // later, what an operator gave back may still be this process's
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range hugeOperators {
		t.Run(name, func(t *testing.T) {
			if need := o.operands*hugeBytes + 1e9; available < need {
				t.Skipf("%.1f GB of memory are available, and it takes %.1f", available/1e9, need/1e9)
			}
			torch.Test(t, func() {
				tail := torch.NewStream(1, "tail").Normal(0, 0.1, torch.Float32, device, tailRows_K, hugeWidth_D)
				x := torch.Zeros(torch.Float32, device, hugeRows_V, hugeWidth_D)
				x.Narrow(0, hugeRows_V-tailRows_K, tailRows_K).Assign(tail)
				o.compare(t, x, tail)
			})
		})
	}
}
