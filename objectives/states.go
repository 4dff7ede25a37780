package objectives

import (
	"math"

	"github.com/aperture-ml/aperture/torch"
)

// Legend: N rows, D width, B blocks, T length of the longest one.

// StatePenalty is what training adds to the loss of a batch for where its hidden states lie, whatever scores them. It
// sees states of the last layer, before the network's last dropout where it gives them, one row for each target.
type StatePenalty interface {
	// Name names it in metrics.
	Name() string
	// Init makes what the penalty keeps.
	Init(p Config) error
	// Penalty is the term, weighted, without dimensions, for states [N,D] in float32 or float64. What a batch pays is a
	// mean over its rows times scale N, so that the rows of an update share one mean. A scale of 0 is a rehearsal: the
	// states are no part of training.
	Penalty(h_ND torch.Tensor, s torch.States, scale float64) torch.Tensor
}

// updateEnd is a piece with something to do between an update's last batch and the optimizer's step.
type updateEnd interface{ endUpdate() }

// penaltyOfStates is what a penalty adds to the loss of a batch. Its products are not those of mixed precision: a
// cosine near 1 has little left in bfloat16.
func penaltyOfStates(r StatePenalty, s torch.States, scale float64) (penalty torch.Tensor) {
	h_ND := s.Hidden
	if s.Raw.Defined() {
		h_ND = s.Raw
	}
	torch.Autocast(false, h_ND.Device(), func() {
		if h_ND.DType() != torch.Float64 {
			h_ND = h_ND.To(torch.Float32, h_ND.Device())
		}
		penalty = r.Penalty(h_ND, s, scale)
	})
	return penalty
}

// blockLength is how many states are compared with each other at most, so that the work grows with N and not with the
// square of a sequence's length. SimCTG was trained on sequences of this length, and the program of the dispersion loss
// draws this many states of a longer one.
const blockLength = 256

// blocks are the states of a batch that belong together: those of a sentence, or what the batch has of a column of
// running text, cut where they are longer than blockLength.
type blocks struct {
	lengths []int64      // at least 2: a state by itself has nothing to be compared with
	rows_BT torch.Tensor // of the batch, filled up with any; the zero Tensor where there is no block
	real_BT torch.Tensor // 1 where a row belongs to the block, else 0
}

// blocksOf finds them. Where the network does not say which column a row is of, there are none.
func blocksOf(s torch.States, dtype torch.DType) (b blocks) {
	columns := make([][]int64, s.Columns)
	for row, column := range s.Column {
		columns[column] = append(columns[column], int64(row))
	}
	var lists [][]int64
	longest := 0
	for _, rows := range columns {
		for ; len(rows) > 1; rows = rows[min(len(rows), blockLength):] {
			list := rows[:min(len(rows), blockLength)]
			lists, longest = append(lists, list), max(longest, len(list))
			b.lengths = append(b.lengths, int64(len(list)))
		}
	}
	if lists == nil {
		return b
	}
	rows, real := make([]int64, len(lists)*longest), make([]float64, len(lists)*longest)
	for i, list := range lists {
		copy(rows[i*longest:], list)
		for k := range list {
			real[i*longest+k] = 1
		}
	}
	device := s.Hidden.Device()
	b.rows_BT = torch.FromInt64s(rows, device, int64(len(lists)), int64(longest))
	b.real_BT = torch.FromFloat64s(real, device, int64(len(lists)), int64(longest)).To(dtype, device)
	return b
}

// of are the states of the blocks, [B,T,D], zero where there is none.
func (b blocks) of(h_ND torch.Tensor) (h_BTD torch.Tensor) {
	n, t := b.rows_BT.Size(0), b.rows_BT.Size(1)
	h_BTD = h_ND.IndexSelect(0, b.rows_BT.Reshape(-1)).Reshape(n, t, h_ND.Size(1))
	return h_BTD.Mul(b.real_BT.Reshape(n, t, 1))
}

// pairs are 1 for two different states of a block, else 0: [B,T,T].
func (b blocks) pairs() (pairs_BTT torch.Tensor) {
	n, t := b.rows_BT.Size(0), b.rows_BT.Size(1)
	places_T := torch.Arange(t, b.real_BT.Device())
	different_TT := places_T.Reshape(t, 1).Equal(places_T).Not().To(b.real_BT.DType(), b.real_BT.Device())
	return b.real_BT.Reshape(n, t, 1).Mul(b.real_BT.Reshape(n, 1, t)).Mul(different_TT)
}

// perBlock is a number for each block, [B].
func (b blocks) perBlock(f func(length float64) float64) torch.Tensor {
	xs := make([]float64, len(b.lengths))
	for i, length := range b.lengths {
		xs[i] = f(float64(length))
	}
	return torch.FromFloat64s(xs, b.real_BT.Device(), int64(len(xs))).To(b.real_BT.DType(), b.real_BT.Device())
}

// meanOfPairs is the mean over a block's pairs of values [B,T,T], [B]; others do not count.
func (b blocks) meanOfPairs(x_BTT torch.Tensor) (mean_B torch.Tensor) {
	sum_B := x_BTT.Mul(b.pairs()).SumDim(2, false).SumDim(1, false)
	return sum_B.Mul(b.perBlock(func(t float64) float64 { return 1 / (t * (t - 1)) }))
}

// cosines are those of all pairs [B,T,T] of states [B,T,D]; a state of zero has cosine 0, and no gradient.
func cosines(h_BTD torch.Tensor) (cosines_BTT torch.Tensor) {
	squares_BT1 := h_BTD.Square().SumDim(2, true)
	zero_BT1 := squares_BT1.Less(torch.Full(smallestSquare, h_BTD.DType(), h_BTD.Device(), 1, 1, 1))
	unit_BTD := h_BTD.Div(squares_BT1.MaskedFill(zero_BT1, math.Inf(1)).Sqrt())
	return unit_BTD.MatMul(unit_BTD.Transpose(1, 2))
}

// smallestSquare is the square of the length below which a vector counts as zero.
const smallestSquare = 1e-24

// blockPenalty is a penalty that each block of states pays by itself. A block of T states pays T times its value, so
// that every state has one share whatever the lengths.
//
// Its products take T / V of the time of one of a softmax's, T the length of a block.
type blockPenalty struct {
	negligible
	name   string
	weight float64
	value  func(b blocks, h_BTD torch.Tensor) (value_B torch.Tensor)
}

// Name names it in metrics.
func (r *blockPenalty) Name() string { return r.name }

// Init has nothing to make.
func (r *blockPenalty) Init(Config) error { return nil }

// Penalty is weight times the sum of T value over the blocks, times scale.
func (r *blockPenalty) Penalty(h_ND torch.Tensor, s torch.States, scale float64) torch.Tensor {
	b := blocksOf(s, h_ND.DType())
	if b.lengths == nil {
		return torch.Zeros(h_ND.DType(), h_ND.Device())
	}
	shares_B := b.perBlock(func(t float64) float64 { return r.weight * scale * t })
	return r.value(b, b.of(h_ND)).Mul(shares_B).Sum()
}
