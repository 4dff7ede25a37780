package models

import (
	"cmp"
	"math"

	"github.com/aperture-ml/aperture/torch"
)

// linear is an affine map: weight [out, in] and bias [out].
type linear struct{ weight, bias torch.Tensor }

func (l linear) apply(x torch.Tensor) torch.Tensor { return torch.Linear(x, l.weight, l.bias) }

// norm is a layer normalisation.
type norm struct {
	gain, bias torch.Tensor
	epsilon    float64 // added to the variance
}

const normEpsilon = 1e-5

func (n norm) apply(x torch.Tensor) torch.Tensor {
	return torch.LayerNorm(x, n.gain, n.bias, n.epsilon)
}

// initialiser draws parameters and names them.
type initialiser struct {
	params  *torch.Params
	stream  *torch.Stream
	device  torch.Device
	dtype   torch.DType
	epsilon float64 // of normalisations; 0 is normEpsilon
	glorot  bool    // Glorot weights and zero biases everywhere, instead of fairseq's mixture
	layers  int     // of a GPT, whose weights start as GPT-2's (see gpt2); 0 in other networks
}

// freeUnless is deferred while a network is made, since an operator may fail for want of memory.
func freeUnless(whole *bool, free func()) {
	if !*whole {
		free()
	}
}

func (in initialiser) uniform(bound float64, shape ...int64) torch.Tensor {
	return in.stream.Uniform(-bound, bound, in.dtype, in.device, shape...)
}

func (in initialiser) add(name string, weight, bias torch.Tensor) linear {
	return linear{in.params.Add(name+".weight", weight), in.params.Add(name+".bias", bias)}
}

// projection is one of attention's maps: Glorot with the given gain, and for q, k and v, not the last one, the
// framework's default bias.
func (in initialiser) projection(name string, d int64, gain float64, last bool) linear {
	if in.layers > 0 {
		return in.gpt2(name, d, d, last)
	}
	if in.glorot {
		gain, last = 1, true
	}
	weight := in.uniform(gain*math.Sqrt(3/float64(d)), d, d)
	if last {
		return in.add(name, weight, torch.Zeros(in.dtype, in.device, d))
	}
	return in.add(name, weight, in.uniform(1/math.Sqrt(float64(d)), d))
}

// feedForward is one of the two maps of the inner network.
func (in initialiser) feedForward(name string, out, from int64, last bool) linear {
	if in.layers > 0 {
		return in.gpt2(name, out, from, last)
	}
	if in.glorot {
		return in.add(name, in.uniform(math.Sqrt(6/float64(out+from)), out, from), torch.Zeros(in.dtype, in.device, out))
	}
	bound := 1 / math.Sqrt(float64(from))
	return in.add(name, in.uniform(bound, out, from), in.uniform(bound, out))
}

// gpt2Deviation is the standard deviation of GPT-2's weights, word vectors and positions at the start.
const gpt2Deviation = 0.02

// gpt2 is a map that starts as in GPT-2 (Radford et al. 2019, section 2.3): N(0, 0.02) with a bias of zeros. The last
// map of a sub-layer is divided by the root of their number, since what 2 layers sub-layers add piles up.
func (in initialiser) gpt2(name string, out, from int64, last bool) linear {
	deviation := gpt2Deviation
	if last {
		deviation /= math.Sqrt(2 * float64(in.layers))
	}
	return in.add(name, in.stream.Normal(0, deviation, in.dtype, in.device, out, from),
		torch.Zeros(in.dtype, in.device, out))
}

func (in initialiser) norm(name string, d int64) norm {
	return norm{
		in.params.Add(name+".weight", torch.Full(1, in.dtype, in.device, d)),
		in.params.Add(name+".bias", torch.Zeros(in.dtype, in.device, d)),
		cmp.Or(in.epsilon, normEpsilon),
	}
}

// LastNorm is the gain and the bias [D] of the layer normalisation that the hidden states of a network leave in
// evaluation, zero Tensors where they leave none.
func LastNorm(network any) (gain_D, bias_D torch.Tensor) {
	if n, ok := network.(interface{ lastNorm() norm }); ok {
		return n.lastNorm().gain, n.lastNorm().bias
	}
	return torch.Tensor{}, torch.Tensor{}
}

func (m *Transformer) lastNorm() norm {
	if m.PreNorm || len(m.decoder) == 0 {
		return m.decoderNorm
	}
	return m.decoder[len(m.decoder)-1].finalNorm
}

func (m *GPT) lastNorm() norm { return m.norm }

func (m *TransformerXL) lastNorm() norm { return m.layers[len(m.layers)-1].innerNorm }
