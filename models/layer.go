package models

import "github.com/aperture-ml/aperture/torch"

// Legend: B batch, T steps, D width.

// LayerSettings are the keys of layers of attention and a feed-forward network, which the Transformer and GPT share.
type LayerSettings struct {
	MaxPositions      int     `toml:"max_positions" kinds:"transformer attentional gpt" default:"1024" range:"[2,1048576]" help:"longest sequence, in symbols with the end of sentence"`
	Positions         string  `toml:"positions" default:"sinusoidal" choice:"sinusoidal learned rotary" help:"position vectors; gpt alone has rotary ones, which turn queries and keys (Su et al. 2021)"`
	Activation        string  `toml:"activation" default:"relu" choice:"relu swish gelu gelu_tanh" help:"activation of the feed-forward layers; translate and serve with -int8 want relu, and GPT-2 has gelu_tanh"`
	ActivationDropout float64 `toml:"activation_dropout" init:"free" default:"0.0" range:"[0,1)" help:"dropout after the feed-forward layers' activation"`
	NormEpsilon       float64 `toml:"norm_epsilon" default:"1e-5" range:"(0,1]" help:"what layer normalisation adds to the variance"`
}

// layer is a layer of attention and a feed-forward network; crossAttn is that of a decoder behind an encoder.
type layer struct {
	selfAttn, crossAttn            attention
	selfNorm, crossNorm, finalNorm norm
	fc1, fc2                       linear
}

func newLayer(in initialiser, name string, c *Config, cross bool) (l layer) {
	d, f := int64(c.Width), int64(c.FFNWidth)
	l.selfAttn = newAttention(in, name+".self_attn", d, c.Heads, &c.AttentionDropout)
	l.selfNorm = in.norm(name+".self_attn_layer_norm", d)
	if cross {
		l.crossAttn = newAttention(in, name+".encoder_attn", d, c.Heads, &c.AttentionDropout)
		l.crossNorm = in.norm(name+".encoder_attn_layer_norm", d)
	}
	l.fc1 = in.feedForward(name+".fc1", f, d, false)
	l.fc2 = in.feedForward(name+".fc2", d, f, true)
	l.finalNorm = in.norm(name+".final_layer_norm", d)
	return l
}

// residual wraps a sub-layer in its residual connection and normalisation.
func (c *Config) residual(x_BTD torch.Tensor, n norm, s *torch.Stream,
	sublayer func(torch.Tensor) torch.Tensor) torch.Tensor {
	if c.PreNorm {
		return x_BTD.Add(torch.Dropout(sublayer(n.apply(x_BTD)), c.Dropout, s))
	}
	return torch.ResidualNorm(sublayer(x_BTD), x_BTD, n.gain, n.bias, n.epsilon, c.Dropout, s)
}

// inner is the position-wise feed-forward sub-layer.
func (c *Config) inner(l layer, x_BTD torch.Tensor, s *torch.Stream) torch.Tensor {
	return c.residual(x_BTD, l.finalNorm, s, func(x_BTD torch.Tensor) torch.Tensor {
		return l.fc2.apply(torch.Dropout(c.activate(l.fc1.apply(x_BTD)), c.ActivationDropout, s))
	})
}

// activate applies the feed-forward layers' activation; no name is ReLU.
func (c *Config) activate(x torch.Tensor) torch.Tensor {
	switch c.Activation {
	case "swish":
		return x.Swish()
	case "gelu":
		return x.GELU()
	case "gelu_tanh":
		return x.GELUTanh()
	}
	return x.Relu()
}
