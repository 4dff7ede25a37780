package models

import (
	"fmt"
	"math"

	"github.com/aperture-ml/aperture/torch"
)

// AttentionSettings are the keys that networks with attention share.
type AttentionSettings struct {
	FFNWidth         int     `toml:"ffn_width" default:"2048" range:"[1,1048576]" help:"width of the feed-forward layers (d_ff)"`
	Heads            int     `toml:"heads" default:"8" range:"[1,1024]" help:"attention heads; they divide width"`
	AttentionDropout float64 `toml:"attention_dropout" init:"free" default:"0.0" range:"[0,1)" help:"dropout on attention weights"`
}

// CheckHeads is an error where the heads do not divide the width.
func (s Settings) CheckHeads() error {
	if s.Heads < 1 || s.Width%s.Heads != 0 {
		return fmt.Errorf("model.heads = %d does not divide model.width = %d", s.Heads, s.Width)
	}
	return nil
}

// Legend: B batch, T queries, S keys, H heads, K width of a head, D = H K.

// attention is multi-head attention (Vaswani et al. 2017, section 3.2.2).
type attention struct {
	q, k, v, out linear
	heads        int64
	dropout      *float64 // on the probabilities: the network's key, which may change between batches
}

func newAttention(in initialiser, name string, d int64, heads int, dropout *float64) attention {
	gain := 1 / math.Sqrt2 // fairseq's Glorot gain for q, k and v
	return attention{
		k: in.projection(name+".k_proj", d, gain, false), v: in.projection(name+".v_proj", d, gain, false),
		q: in.projection(name+".q_proj", d, gain, false), out: in.projection(name+".out_proj", d, 1, true),
		heads: int64(heads), dropout: dropout,
	}
}

// split turns [B,T,D] into [B,H,T,K].
func (a attention) split(x_BTD torch.Tensor) torch.Tensor {
	b, t := x_BTD.Size(0), x_BTD.Size(1)
	return x_BTD.Reshape(b, t, a.heads, -1).Transpose(1, 2)
}

// merge turns [B,H,T,K] into [B,T,D].
func merge(x_BHTK torch.Tensor) torch.Tensor {
	b, t := x_BHTK.Size(0), x_BHTK.Size(2)
	return x_BHTK.Transpose(1, 2).Reshape(b, t, -1)
}

// keys projects a memory [B,S,D] to keys and values [B,H,S,K].
func (a attention) keys(memory_BSD torch.Tensor) (k, v torch.Tensor) {
	memory_BSD = torch.Operand(memory_BSD)
	return a.split(a.k.apply(memory_BSD)), a.split(a.v.apply(memory_BSD))
}

// attendItself is attend of x to itself, [B,T,D].
func (a attention) attendItself(x_BTD, mask torch.Tensor, causal bool, s *torch.Stream) torch.Tensor {
	q, k, v := a.maps(x_BTD)
	return a.read(q, k, v, mask, causal, s)
}

// maps are the queries, keys and values [B,H,T,K] of x.
func (a attention) maps(x_BTD torch.Tensor) (q, k, v torch.Tensor) {
	maps := torch.Linears(x_BTD, []torch.Tensor{a.k.weight, a.v.weight, a.q.weight},
		[]torch.Tensor{a.k.bias, a.v.bias, a.q.bias})
	return a.split(maps[2]), a.split(maps[0]), a.split(maps[1])
}

// attend lets queries [B,T,D] read keys and values. The mask is true where a key
// takes part, [B,1,1,S]; the zero Tensor stands for no mask.
func (a attention) attend(x_BTD, k, v, mask torch.Tensor, causal bool, s *torch.Stream) torch.Tensor {
	return a.read(a.split(a.q.apply(x_BTD)), k, v, mask, causal, s)
}

func (a attention) read(q, k, v, mask torch.Tensor, causal bool, s *torch.Stream) torch.Tensor {
	if *a.dropout > 0 && s != nil {
		return a.out.apply(merge(torch.Dropout(probabilities(q, k, mask, causal), *a.dropout, s).MatMul(v)))
	}
	return a.out.apply(merge(torch.Attention(q, k, v, mask, causal)))
}

// weights returns the mean over heads of the attention probabilities [B,T,S].
func (a attention) weights(x_BTD, k, mask torch.Tensor) torch.Tensor {
	return probabilities(a.split(a.q.apply(x_BTD)), k, mask, false).MeanDim(1, false)
}

// probabilities is softmax(q k^T / sqrt(K)) in plain operators, [B,H,T,S].
func probabilities(q, k, mask torch.Tensor, causal bool) torch.Tensor {
	scores := q.MatMul(k.Transpose(2, 3)).MulScalar(1 / math.Sqrt(float64(q.Size(3))))
	if mask.Defined() {
		scores = scores.MaskedFill(mask.Not(), math.Inf(-1))
	}
	if causal {
		scores = scores.MaskedFill(future(q.Size(2), k.Size(2), q.Device()), math.Inf(-1))
	}
	return scores.Softmax(3)
}

// future is true where a key comes after the query, [T,S].
func future(t, s int64, d torch.Device) torch.Tensor {
	mask := make([]bool, t*s)
	for i := range t {
		for j := i + 1; j < s; j++ {
			mask[i*s+j] = true
		}
	}
	return torch.FromBools(mask, d, t, s)
}
