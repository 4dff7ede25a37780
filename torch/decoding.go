package torch

// #include "api.h"
import "C"

import (
	"fmt"
	"math"
	"slices"
	"unsafe"
)

// Packed is a weight [V,D] laid out for many products. The weight keeps its values for as long as it is in use.
type Packed struct{ weight Tensor }

// Pack lays out a float32 matrix on the CPU. The result belongs to the scope; Keep and Free take Tensor().
func Pack(weight Tensor) Packed {
	var out C.ap_tensor
	check("Pack", C.ap_pack_weight(weight.c("Pack"), &out), weight)
	return Packed{own("Pack", out)}
}

// PackInt8 is Pack with eight bits for each weight, and a scale for each row; a product with it gives each row of its
// input eight bits and a scale too, whatever rows stand beside it.
func PackInt8(weight Tensor) Packed {
	var out C.ap_tensor
	check("PackInt8", C.ap_pack_int8(weight.c("PackInt8"), &out), weight)
	return Packed{own("PackInt8", out)}
}

// CanPack reports whether x is of the kind that Pack takes.
func CanPack(x Tensor) bool { return x.DType() == Float32 && x.Device() == CPU && x.Rank() == 2 }

// Tensor is the handle, for Keep and Free: it has a shape, and no elements to read.
func (p Packed) Tensor() Tensor { return p.weight }

// Linear returns x W^T + bias for x [...,D], then max(0, .) where relu is set; the
// zero Tensor stands for no bias. It records no gradient.
func (p Packed) Linear(x, bias Tensor, relu bool) Tensor {
	const op = "Linear"
	var out C.ap_tensor
	return made(op, C.ap_packed_linear(x.c(op), p.weight.c(op), bias.orNull(op), C.bool(relu), &out), &out,
		x, p.weight, bias)
}

// Defined reports whether p holds a weight.
func (p Packed) Defined() bool { return p.weight.Defined() }

// DecoderStep is one step of a Transformer's decoder, through all layers, for R
// hypotheses, those of a sentence side by side.
//
// Legend: R hypotheses, B sentences, D width, L layers, t steps before, M real
// source tokens, S tokens of the longest source.
type DecoderStep struct {
	Weights  []Tensor // 18 a layer, as models.Decoder lists them; matrices packed
	LastNorm []Tensor // gain and bias after the last layer; nil says that layers are post-norm
	Heads    int
	Epsilon  float64  // of the normalisations
	History  []Tensor // of each step before: keys and values [L, rows, 2 D]
	Ancestor []int32  // [R,t] the row of each step before that a hypothesis continues
	Memory   []Tensor // of each layer: keys and values of the sources [M, 2 D]
	Starts   []int32  // [B] first row of a sentence in Memory
	Lengths  []int32  // [B] its rows
	// Attention asks for the last layer's attention over the source.
	Attention bool
}

// Run takes the words' vectors [R,D]. It returns hidden states [R,D], the keys and values [L,R,2 D] that belong to
// History next, and attention [R,S] averaged over heads, where it was asked for.
func (s DecoderStep) Run(words Tensor) (hidden, keysValues, attention Tensor) {
	const op = "DecoderStep"
	needScope(op)
	r, t := words.Size(0), len(s.History)
	if len(s.Ancestor) != int(r)*t || len(s.Lengths) != len(s.Starts) || len(s.Weights) != 18*len(s.Memory) {
		fail(op, fmt.Sprintf("%d ancestors of %d steps, %d starts, %d lengths, %d weights and %d memories do not fit "+
			"together",
			len(s.Ancestor), t, len(s.Starts), len(s.Lengths), len(s.Weights), len(s.Memory)), false, words)
	}
	longest := int32(0)
	for _, n := range s.Lengths {
		longest = max(longest, n)
	}
	_, weights := raw(op, s.Weights)
	_, lastNorm := raw(op, s.LastNorm)
	_, history := raw(op, s.History)
	_, memory := raw(op, s.Memory)
	var h, kv, a C.ap_tensor
	check(op, C.ap_decoder_step(words.c(op), weights, C.int(len(s.Memory)), lastNorm, C.int(s.Heads),
		C.double(s.Epsilon), history, C.int(t),
		cInt32s(s.Ancestor), memory, cInt32s(s.Starts), cInt32s(s.Lengths), C.int(len(s.Starts)), C.int(longest),
		C.bool(s.Attention),
		&h, &kv, &a), words)
	if s.Attention {
		attention = own(op, a)
	}
	return own(op, h), own(op, kv), attention
}

func cInt32s(xs []int32) *C.int32_t { return (*C.int32_t)(unsafe.Pointer(unsafe.SliceData(xs))) }

// EndRule says what a sentence's hypotheses may do about the end of sentence.
type EndRule uint8

// The rules.
const (
	EndAllowed   EndRule = iota
	EndForbidden         // too short yet
	EndForced            // nothing else is left
)

// BeamTopK are the settings of a selection of candidates.
type BeamTopK struct {
	Count    int       // candidates of a sentence
	Pad, End int64     // the id that is never chosen (-1 for none), and the end of sentence
	Scores   []float64 // [R] log-probability of each hypothesis so far; -Inf for one that does not count
	Rules    []EndRule // [B]
	Banned   [][]int32 // [R] ids that a hypothesis may not take; nil for none
	// Wanted are ids [R] whose log-probabilities are asked for, whatever the rules say of them; nil for none.
	Wanted [][]int32
	// Allowed are the ids [B], rising, that a sentence's hypotheses may take; nil allows all. The softmax of FromHidden is
	// over them, and log-probabilities that are given stay as they are.
	Allowed [][]int32
}

// Candidates are the best continuations, Count for each sentence, falling by
// score. Where there are fewer, the others have Row -1 and the score -Inf.
type Candidates struct {
	Scores, LogProbs []float64 // of the whole, and of the last word
	Rows, IDs        []int32   // which hypothesis is continued with which word
	Wanted           []float64 // log-probabilities of BeamTopK.Wanted, row by row; -Inf where the row does not count
}

func (b BeamTopK) check(op string, r int) {
	if len(b.Scores) != r || len(b.Rules) == 0 || r%len(b.Rules) != 0 || b.Count < 1 ||
		(b.Banned != nil && len(b.Banned) != r) || (b.Wanted != nil && len(b.Wanted) != r) ||
		(b.Allowed != nil && len(b.Allowed) != len(b.Rules)) {
		fail(op, fmt.Sprintf("%d scores, %d rules, %d lists of banned, %d of wanted and %d of allowed ids and %d "+
			"candidates do not fit %d rows",
			len(b.Scores), len(b.Rules), len(b.Banned), len(b.Wanted), len(b.Allowed), b.Count, r), false)
	}
}

// FromHidden selects by log softmax(hidden weight^T + bias) for hidden states
// [R,D] and a packed weight [V,D]; the zero Tensor stands for no bias.
func (b BeamTopK) FromHidden(hidden Tensor, weight Packed, bias Tensor) Candidates {
	return b.run(hidden, weight.weight, bias)
}

// FromLogProbs selects by log-probabilities [R,V]. On float32 CPU tensors it is
// fused; anything else takes FromLogProbsReference.
func (b BeamTopK) FromLogProbs(logProbs Tensor) Candidates {
	if !CanPack(logProbs) {
		return b.FromLogProbsReference(logProbs)
	}
	return b.run(logProbs, Tensor{}, Tensor{})
}

func (b BeamTopK) run(x, weight, bias Tensor) Candidates {
	const op = "BeamTopK"
	b.check(op, int(x.Size(0)))
	out := b.room()
	banned, bannedStarts := flat(b.Banned)
	wanted, wantedStarts := flat(b.Wanted)
	allowed, allowedStarts := flat(b.Allowed)
	check(op, C.ap_beam_topk(x.c(op), weight.orNull(op), bias.orNull(op), cDoubles(b.Scores), C.int64_t(len(b.Rules)),
		C.int64_t(b.Count), C.int64_t(b.Pad), C.int64_t(b.End), (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(b.Rules))),
		cInt32s(banned), cInts(bannedStarts), cInt32s(wanted), cInts(wantedStarts), cInt32s(allowed),
		cInts(allowedStarts), cDoubles(out.Scores), cDoubles(out.LogProbs),
		(*C.int32_t)(unsafe.Pointer(&out.Rows[0])), (*C.int32_t)(unsafe.Pointer(&out.IDs[0])), cDoubles(out.Wanted)), x,
		weight, bias)
	return out
}

// flat is lists one after the other, with where each begins and where the last ends; both nil for no lists.
func flat(lists [][]int32) (ids []int32, starts []int64) {
	if lists == nil {
		return nil, nil
	}
	for _, list := range lists {
		starts = append(starts, int64(len(ids)))
		ids = append(ids, list...)
	}
	return ids, append(starts, int64(len(ids)))
}

// room is space for the candidates.
func (b BeamTopK) room() Candidates {
	n, wanted := len(b.Rules)*b.Count, 0
	for _, ids := range b.Wanted {
		wanted += len(ids)
	}
	return Candidates{make([]float64, n), make([]float64, n), make([]int32, n), make([]int32, n),
		make([]float64, wanted)}
}

func cDoubles(xs []float64) *C.double { return (*C.double)(unsafe.Pointer(unsafe.SliceData(xs))) }

// FromLogProbsReference is FromLogProbs made of plain operators.
func (b BeamTopK) FromLogProbsReference(logProbs Tensor) Candidates {
	r, v := logProbs.Size(0), logProbs.Size(1)
	b.check("BeamTopK", int(r))
	logProbs = b.Masked(logProbs)
	d, sentences := logProbs.Device(), int64(len(b.Rules))
	group := r / sentences
	columns := Arange(v, d)
	isEnd := columns.EqualScalar(float64(b.End)).Reshape(1, 1, v)
	rule := func(which EndRule) Tensor {
		list := make([]bool, sentences)
		for i, rule := range b.Rules {
			list[i] = rule == which
		}
		return FromBools(list, d, sentences, 1, 1)
	}
	and := func(x, y Tensor) Tensor { return x.Not().Or(y.Not()).Not() }
	mask := columns.EqualScalar(float64(b.Pad)).Reshape(1, 1,
		v).Or(and(isEnd, rule(EndForbidden))).Or(and(isEnd.Not(), rule(EndForced)))
	each := logProbs.Reshape(sentences, group, v).MaskedFill(mask, math.Inf(-1))
	if b.Banned != nil {
		banned := make([]bool, r*v)
		for row, ids := range b.Banned {
			for _, id := range ids {
				banned[int64(row)*v+int64(id)] = true
			}
		}
		each = each.MaskedFill(FromBools(banned, d, sentences, group, v), math.Inf(-1))
	}
	sum := each.Add(FromFloat64s(b.Scores, d, sentences, group, 1).To(logProbs.DType(), d))
	k := min(int64(b.Count), group*v)
	values, indices := sum.Reshape(sentences, -1).TopK(int(k), 1)
	words := each.Reshape(sentences, -1).Gather(1, indices)
	out := b.room()
	b.readWanted(logProbs, out.Wanted)
	best, last, flat := values.Float64s(), words.Float64s(), indices.Int64s()
	for s := range sentences {
		for i := range int64(b.Count) {
			o := s*int64(b.Count) + i
			out.Scores[o], out.LogProbs[o], out.Rows[o], out.IDs[o] = math.Inf(-1), math.Inf(-1), -1, -1
			if i >= k || !(best[s*k+i] > math.Inf(-1)) { // NaN is no candidate
				continue
			}
			at := flat[s*k+i]
			row := s*group + at/v
			out.LogProbs[o], out.Rows[o], out.IDs[o] = last[s*k+i], int32(row), int32(at%v)
			out.Scores[o] = b.Scores[row] + last[s*k+i]
		}
	}
	return out
}

// Masked are scores [R,V] with minus infinity at all words but the allowed ones.
func (b BeamTopK) Masked(scores Tensor) Tensor {
	if b.Allowed == nil {
		return scores
	}
	v, sentences := scores.Size(1), int64(len(b.Allowed))
	others := slices.Repeat([]bool{true}, int(sentences*v))
	for i, ids := range b.Allowed {
		for _, id := range ids {
			others[int64(i)*v+int64(id)] = false
		}
	}
	each := scores.Reshape(sentences, scores.Size(0)/sentences, v)
	return each.MaskedFill(FromBools(others, scores.Device(), sentences, 1, v), math.Inf(-1)).Reshape(-1, v)
}

// readWanted reads the log-probabilities [R,V] of the wanted ids.
func (b BeamTopK) readWanted(logProbs Tensor, out []float64) {
	if len(out) == 0 {
		return
	}
	var places []int64
	for row, ids := range b.Wanted {
		for _, id := range ids {
			places = append(places, int64(row)*logProbs.Size(1)+int64(id))
		}
	}
	index := FromInt64s(places, logProbs.Device(), int64(len(places)))
	copy(out, logProbs.Reshape(-1).Gather(0, index).Float64s())
	place := 0
	for row, ids := range b.Wanted {
		for range ids {
			if math.IsInf(b.Scores[row], -1) {
				out[place] = math.Inf(-1)
			}
			place++
		}
	}
}
