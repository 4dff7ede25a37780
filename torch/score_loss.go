package torch

// #include "api.h"
import "C"

import (
	"fmt"
	"slices"
)

// Legend: N positions, C positions of a chunk, K rows of scores of a position where it has several, R = C K rows of a
// chunk, V vocabulary, D width.

// LossOperands are what a loss over a vocabulary's scores is a function of. All but the targets may get gradients.
type LossOperands struct {
	Hidden  Tensor   // [N,D], or [N,K,D] together with a Prior
	Prior   Tensor   // [N,K], or the zero Tensor
	Weight  Tensor   // [V,D]
	Bias    Tensor   // [V], or the zero Tensor
	Targets Tensor   // [N], int64
	Shift   Tensor   // what belongs to each row of scores, [N] or [N,K]; or the zero Tensor
	Rows    []Tensor // what else belongs to positions, [N,...]
	Whole   []Tensor // what else the loss depends on, of any shape

	From   int64         // the first row of Weight, and of Bias, that scores are made of
	Beside []LinearLayer // whose outputs the loss reads beside the scores
}

// LinearLayer is a linear layer of positions.
type LinearLayer struct {
	Hidden Tensor // [N,D] or [N,K,D]
	Weight Tensor // [U,D]
	Bias   Tensor // [U], or the zero Tensor
}

// ScoreChunk is what belongs to C positions, in float32 or float64: the scores Hidden Weight^T + Bias and the operands'
// rows.
type ScoreChunk struct {
	Scores  Tensor // [C,V], or [C,K,V]
	Prior   Tensor // [C,K], or the zero Tensor
	Targets Tensor // [C], int64
	Shift   Tensor // [C] or [C,K], or the zero Tensor
	Rows    []Tensor
	Beside  []Tensor // [C,U] or [C,K,U] of each further layer
}

// ScoreLoss is a linear layer to the scores of a vocabulary and any loss of them. f is a plain function of tensors: it
// gives the losses [C] of a chunk of positions, through which gradients flow, and values [C] to report.
//
// The results are the sum of all losses times o.Scale, without dimensions, and the values [N], 0 where a target is
// o.Ignore, without gradients. f sees no such position, and no position at all where none counts. Only o.Ignore, Scale,
// Chunk, Evaluate and WeightGate are read.
//
// Scores, and all that f makes of them, exist for one chunk at a time: gradients are taken while they do, and the
// backward pass multiplies them by the one that comes in. f uses the operands of x.Whole as they are; they must be
// among the operands to get gradients.
func ScoreLoss(x LossOperands, o SoftmaxLossOptions, f func(ScoreChunk) (loss_C Tensor, values_C []Tensor)) (Tensor,
	[]Tensor) {
	return scoreLoss("ScoreLoss", x, o, f)
}

func scoreLoss(op string, x LossOperands, o SoftmaxLossOptions, f func(ScoreChunk) (Tensor, []Tensor)) (loss Tensor,
	values_N []Tensor) {
	needScope(op)
	if o.Smoothing < SmoothingFairseq || o.Smoothing > SmoothingT2T {
		fail(op, fmt.Sprintf("there is no label smoothing %d", o.Smoothing), false, x.tensors()...)
	}
	scope := OpenScope()
	defer scope.Close()
	p := &scorePass{op: op, options: o, f: f}
	places := p.count(x)
	recording(false, func(before bool) {
		Autocast(false, x.Hidden.Device(), func() {
			p.prepare(before && !o.Evaluate)
			for start := int64(0); start == 0 || start < p.positions; start += p.size {
				p.chunk(start, min(p.size, p.positions-start))
			}
		})
		loss = p.total.MulScalar(o.Scale).To(p.wide, x.Hidden.Device())
		for _, parts := range p.values {
			value := Cat(parts, 0)
			if places.Defined() {
				value = value.ScatterRows(places, x.Targets.Size(0))
			}
			values_N = append(values_N, value)
		}
	})
	var operands, gradients []Tensor
	for _, given := range p.all() {
		if given.gradient.Defined() {
			operands, gradients = append(operands, given.of), append(gradients, given.gradient)
		}
	}
	if len(operands) > 0 {
		loss = loss.withGradients(operands, gradients)
	}
	for _, result := range append([]Tensor{loss}, values_N...) {
		result.move(op, scope.parent)
	}
	return loss, values_N
}

// operand is one operand of a loss: as it was given, with the history that its gradient flows into; as the pass uses
// it; and its gradient so far, where one is wanted.
type operand struct{ of, used, gradient Tensor }

// scorePass is one computation of a loss over scores.
type scorePass struct {
	op      string
	options SoftmaxLossOptions
	f       func(ScoreChunk) (Tensor, []Tensor)

	layers       []scoreLayer // that of the scores comes first
	prior, shift operand      // by position: those that count
	rows, whole  []operand
	targets      Tensor

	product, wide   DType // of the products, and of all else
	positions, size int64 // that count; positions of a chunk
	training        bool
	total           Tensor     // the sum of losses, in float64
	values          [][]Tensor // by value and chunk
}

// scoreLayer is a linear layer of a pass.
type scoreLayer struct{ hidden, weight, bias operand }

// trained reports whether the layer's outputs want a gradient.
func (l *scoreLayer) trained() bool {
	return l.hidden.gradient.Defined() || l.weight.gradient.Defined() || l.bias.gradient.Defined()
}

// all are the operands in the order of their gradients.
func (p *scorePass) all() []*operand {
	all := []*operand{&p.prior, &p.shift}
	for i := range p.layers {
		all = append(all, &p.layers[i].hidden, &p.layers[i].weight, &p.layers[i].bias)
	}
	for i := range p.rows {
		all = append(all, &p.rows[i])
	}
	for i := range p.whole {
		all = append(all, &p.whole[i])
	}
	return all
}

// count leaves out positions that count as nothing, and gives the places of the others; the zero Tensor where all
// count.
func (p *scorePass) count(x LossOperands) (places Tensor) {
	var at, kept C.ap_tensor
	var dtype C.int
	check(p.op, C.ap_counted(x.Hidden.c(p.op), x.Prior.orNull(p.op), x.Weight.c(p.op), x.Bias.orNull(p.op),
		x.Targets.c(p.op),
		x.Shift.orNull(p.op), C.int64_t(p.options.Ignore), &at, &kept, &dtype), x.tensors()...)
	if at != nil {
		places = own(p.op, at)
	}
	p.targets, p.product, p.wide = own(p.op, kept), DType(dtype), wider(DType(dtype))
	p.positions = p.targets.Size(0)
	counted := func(y Tensor) operand {
		if y.Defined() && places.Defined() {
			y = y.IndexSelect(0, places)
		}
		return operand{of: y}
	}
	p.prior, p.shift = counted(x.Prior), counted(x.Shift)
	for _, l := range append([]LinearLayer{{x.Hidden, from(x.Weight, x.From), from(x.Bias, x.From)}}, x.Beside...) {
		if l.Hidden.Size(0) != x.Targets.Size(0) || l.Hidden.Size(-1) != l.Weight.Size(1) {
			fail(p.op, "a linear layer does not fit the targets or its weight", false, l.Hidden, l.Weight, x.Targets)
		}
		p.layers = append(p.layers, scoreLayer{counted(l.Hidden), operand{of: l.Weight}, operand{of: l.Bias}})
	}
	for _, y := range x.Rows {
		if y.Rank() == 0 || y.Size(0) != x.Targets.Size(0) {
			fail(p.op, "an operand by rows has other rows than the targets", false, y, x.Targets)
		}
		p.rows = append(p.rows, counted(y))
	}
	for i, y := range x.Whole {
		if !slices.Contains(x.Whole[:i], y) { // its gradient is that of all uses
			p.whole = append(p.whole, operand{of: y, used: y})
		}
	}
	return places
}

// from are the rows of x, or of the zero Tensor, from the given one on.
func from(x Tensor, first int64) Tensor {
	if first == 0 || !x.Defined() {
		return x
	}
	return x.Narrow(0, first, x.Size(0)-first)
}

// prepare brings the operands into the types that they are used in and makes room for the gradients.
func (p *scorePass) prepare(recorded bool) {
	const hidden, matrix = 1, 2
	layered := map[*operand]int{}
	for i := range p.layers {
		l := &p.layers[i]
		layered[&l.hidden], layered[&l.weight], layered[&l.bias] = hidden, matrix, matrix
	}
	for _, given := range p.all() {
		if !given.of.Defined() {
			continue
		}
		device := given.of.Device()
		dtype := p.wide
		if layered[given] != 0 {
			dtype = p.product
		}
		if !given.used.Defined() {
			given.used = given.of.Detach().To(dtype, device)
		}
		if recorded && given.of.RequiresGrad() {
			p.training = true
			if layered[given] == matrix {
				dtype = p.wide // a sum over chunks
			}
			given.gradient = Zeros(dtype, device, given.of.Shape()...)
		}
	}
	main := p.layers[0]
	k, v := int64(1), main.weight.of.Size(0)
	if p.prior.of.Defined() {
		k = p.prior.of.Size(1)
	}
	for _, l := range p.layers[1:] { // their outputs are rows of scores in size
		v += l.weight.of.Size(0) * l.hidden.of.Count() / max(1, l.hidden.of.Size(0)*l.hidden.of.Size(-1))
	}
	p.size = chunkPositions(p.positions, k, v, p.product, main.hidden.of.Device(), p.options.Chunk)
	p.total = Zeros(Float64, main.hidden.of.Device())
}

// chunk adds c positions.
func (p *scorePass) chunk(start, c int64) {
	outer := current
	scope := OpenScope()
	defer scope.Close()
	var leaves []Tensor
	var sums []func(gradient Tensor)
	differentiated := func(x Tensor, sum func(gradient Tensor)) Tensor {
		x = x.Detach()
		x.SetRequiresGrad(true)
		leaves, sums = append(leaves, x), append(sums, sum)
		return x
	}
	part := func(given operand) Tensor {
		if !given.used.Defined() {
			return Tensor{}
		}
		x := given.used.Narrow(0, start, c)
		if !given.gradient.Defined() {
			return x
		}
		return differentiated(x, given.gradient.Narrow(0, start, c).Assign)
	}
	chunk := ScoreChunk{
		Targets: p.targets.Narrow(0, start, c), Prior: part(p.prior), Shift: part(p.shift),
	}
	var outputs []Tensor
	for i, l := range p.layers {
		hidden := l.hidden.used.Narrow(0, start, c)
		output := Linear(hidden, l.weight.used, l.bias.used).To(p.wide, hidden.Device())
		if l.trained() {
			var gate Tensor
			if i == 0 && p.options.WeightGate != nil {
				gate = p.options.WeightGate(chunk.Targets).To(p.wide, hidden.Device())
			}
			output = differentiated(output, func(gradient Tensor) { p.products(l, start, hidden, gradient, gate) })
		}
		outputs = append(outputs, output)
	}
	chunk.Scores, chunk.Beside = outputs[0], outputs[1:]
	for _, given := range p.rows {
		chunk.Rows = append(chunk.Rows, part(given))
	}
	for _, given := range p.whole {
		if given.gradient.Defined() {
			leaves = append(leaves, given.of)
			sums = append(sums, func(g Tensor) { given.gradient.Assign(given.gradient.Add(g)) })
		}
	}
	var loss_C, sum Tensor
	var values_C []Tensor
	recording(p.training, func(bool) {
		loss_C, values_C = p.f(chunk)
		if shape := loss_C.Shape(); len(shape) != 1 || shape[0] != c {
			fail(p.op, "the function of the scores must give one loss for each target", false, loss_C, chunk.Targets)
		}
		sum = loss_C.Sum().MulScalar(p.options.Scale)
	})
	for i, gradient := range sum.gradients(leaves) {
		if gradient.Defined() {
			sums[i](gradient)
		}
	}
	p.total.Assign(p.total.Add(loss_C.Detach().To(Float64, loss_C.Device()).Sum()))
	p.values = append(p.values, make([][]Tensor, len(values_C)-len(p.values))...)
	for i, value := range values_C {
		value = value.Detach().Clone()
		value.move(p.op, outer)
		p.values[i] = append(p.values[i], value)
	}
}

// products adds what a chunk's gradient in the outputs of a layer gives those of its hidden states [C,D] or [C,K,D],
// its weight and its bias. What the weight gets goes through the gate [C,V], where there is one.
func (p *scorePass) products(l scoreLayer, start int64, hidden, gradient, gate Tensor) {
	v := gradient.Size(-1)
	g_RV := gradient.Reshape(hidden.Count()/hidden.Size(-1), v)
	if l.bias.gradient.Defined() {
		l.bias.gradient.Assign(l.bias.gradient.Add(g_RV.SumDim(0, false)))
	}
	if l.hidden.gradient.Defined() {
		g := g_RV.To(p.product, gradient.Device()).MatMul(l.weight.used).Reshape(hidden.Shape()...)
		l.hidden.gradient.Narrow(0, start, hidden.Size(0)).Assign(g)
	}
	if l.weight.gradient.Defined() {
		if gate.Defined() {
			c := gradient.Size(0)
			g_CKV := gradient.Reshape(c, gradient.Count()/max(1, c*v), v).Mul(gate.Reshape(c, 1, v))
			g_RV = g_CKV.Reshape(g_RV.Shape()...)
		}
		g_RV = g_RV.To(p.product, gradient.Device())
		h_RD := hidden.Reshape(g_RV.Size(0), hidden.Size(-1))
		check(p.op, C.ap_add_product(l.weight.gradient.c(p.op), g_RV.c(p.op), h_RD.c(p.op)), l.weight.gradient, g_RV,
			h_RD)
	}
}

// chunkPositions are the positions of a chunk with k rows of scores each: as chunk rows make them, or by shape where
// that is 0.
func chunkPositions(n, k, v int64, dtype DType, d Device, chunk int64) int64 {
	if chunk == 0 {
		bytes := 4 * v
		if dtype == Float64 {
			bytes = 8 * v
		}
		chunk = int64(C.ap_chunk_rows(C.int64_t(n*k), C.int64_t(bytes), C.bool(d == CPU)))
	}
	return max(1, chunk/k)
}

// wider is the type in which sums over a vocabulary are taken.
func wider(dtype DType) DType {
	if dtype == Float64 {
		return Float64
	}
	return Float32
}

// tensors are the operands, for errors.
func (x LossOperands) tensors() []Tensor {
	return []Tensor{x.Hidden, x.Prior, x.Weight, x.Bias, x.Targets, x.Shift}
}
