package torch_test

import (
	"math"
	"slices"

	"github.com/aperture-ml/aperture/torch"
)

// fusedOperators are those of TestRandomShapes.
var fusedOperators = map[string]func(d drawer) comparison{
	"ResidualNorm": func(d drawer) comparison {
		n, width, p := d.size(0, 130), d.size(3, 257), 0.3*float64(d.IntN(2))
		form := func(f residualNorm) operator {
			return func(in []torch.Tensor) []torch.Tensor {
				return []torch.Tensor{f(in[0], in[1], in[2], in[3], 1e-5, p, torch.NewStream(1, "dropout"))}
			}
		}
		return comparison{operands: []torch.Tensor{d.normal(1, n, width), d.normal(2, n, width), d.normal(1, width),
			d.normal(1, width)}, fused: form(torch.ResidualNorm), plain: form(torch.ResidualNormReference)}
	},
	"LSTM": func(d drawer) comparison {
		steps, columns, in, width := d.size(0, 17), d.size(0, 33), d.size(1, 47), d.size(1, 130)
		o := torch.LSTMOptions{Reverse: d.IntN(2) == 0, WeightDrop: 0.3 * float64(d.IntN(2)),
			Lengths: d.lengths(columns, steps)}
		form := func(f lstm) operator {
			return func(in []torch.Tensor) []torch.Tensor {
				o.Stream = torch.NewStream(1, "dropout")
				out, h, c := f(in[0], in[1], in[2], torch.LSTMWeights{Input: in[3], Hidden: in[4], InputBias: in[5],
					HiddenBias: in[6]}, o)
				return []torch.Tensor{out, h, c}
			}
		}
		return comparison{operands: []torch.Tensor{d.normal(1, steps, columns, in),
			d.maybe(d.normal(1, columns, width)), d.maybe(d.normal(1, columns, width)), d.normal(0.3, 4*width, in),
			d.normal(0.2, 4*width, width),
			d.normal(1, 4*width), d.normal(1, 4*width)}, fused: form(torch.LSTM), plain: form(torch.LSTMReference)}
	},
	"QRNNScan": func(d drawer) comparison {
		steps, columns, width := d.size(0, 33), d.size(0, 33), d.size(0, 130)
		form := func(f func(gates, c torch.Tensor) (out, last torch.Tensor)) operator {
			return func(in []torch.Tensor) []torch.Tensor {
				out, last := f(in[0], in[1])
				return []torch.Tensor{out, last}
			}
		}
		return comparison{operands: []torch.Tensor{d.normal(1, steps, columns, 3*width), d.normal(1, columns, width)},
			fused: form(torch.QRNNScan), plain: form(torch.QRNNScanReference)}
	},
	"AttentionalDecoder": func(d drawer) comparison {
		c := attentionalCase{layers: 1 + d.IntN(3), steps: d.size(0, 9), rows: d.size(1, 33), positions: d.size(1, 33),
			words: d.size(1, 65), width: d.size(1, 130)}
		c.lengths, c.between, c.output = d.lengths(c.rows, c.positions), d.Int64N(2)*c.steps, d.Int64N(2)
		form := func(f attentionalRun) operator {
			return func(in []torch.Tensor) []torch.Tensor { return []torch.Tensor{c.run(f, in)} }
		}
		return comparison{operands: attentionalInputs(c, torch.Float32), fused: form(torch.AttentionalDecoder.Run),
			plain: form(torch.AttentionalDecoder.RunReference)}
	},
	"Attention in bfloat16": attentionInHalf,
	"GELUTanh": func(d drawer) comparison {
		form := func(f func(torch.Tensor) torch.Tensor) operator {
			return func(in []torch.Tensor) []torch.Tensor { return []torch.Tensor{f(in[0])} }
		}
		return comparison{operands: []torch.Tensor{d.normal(3, d.size(0, 257), d.size(0, 130))},
			fused: form(torch.Tensor.GELUTanh), plain: form(torch.Tensor.GELUTanhReference)}
	},
	"RepeatedLinear": func(d drawer) comparison {
		shape := func(sizes ...int64) []int64 { return sizes }
		if b := d.size(1, 5); d.IntN(2) == 0 {
			shape = func(sizes ...int64) []int64 { return append([]int64{b}, sizes...) }
		}
		rows, in, out := d.size(0, 33), d.size(1, 130), d.size(1, 130)
		steps := func(f func(x, matrix, addend torch.Tensor) torch.Tensor, matrix torch.Tensor, in []torch.Tensor) (
			ys []torch.Tensor) {
			for _, x := range in[2:] {
				ys = append(ys, f(x, matrix, in[1]))
			}
			return ys
		}
		x := func() torch.Tensor { return d.normal(1, shape(rows, in)...) }
		return comparison{
			operands: []torch.Tensor{d.normal(0.3, shape(out, in)...), d.maybe(d.normal(1, shape(rows, out)...)),
				x(), x(), x()},
			fused: func(in []torch.Tensor) []torch.Tensor {
				return steps(torch.RepeatedLinear, torch.Repeated(in[0]), in)
			},
			plain: func(in []torch.Tensor) []torch.Tensor { return steps(torch.RepeatedLinearReference, in[0], in) },
		}
	},
	"SoftmaxLoss": func(d drawer) comparison { return softmaxComparison(d, false) },
	"ScoreLoss":   func(d drawer) comparison { return softmaxComparison(d, true) },
	"MixtureLoss": func(d drawer) comparison {
		c := newMixtureCase(d.Rand, d.size(0, 65), d.size(1, 5), d.size(1, 65), d.size(1, 257), d.IntN(2) == 0,
			d.IntN(2) == 0)
		form := func(f mixtureFunction) operator {
			return func(in []torch.Tensor) []torch.Tensor {
				return defined(f(in[0], in[1], in[2], in[3], c.targets, in[4], c.options))
			}
		}
		return comparison{operands: singles(c.latent, c.prior, c.weight, c.bias, c.shift),
			fused: form(torch.MixtureLoss), plain: form(plainMixture)}
	},
	"MixtureLogProbs": func(d drawer) comparison {
		n, k, width, v := d.size(0, 65), d.size(1, 5), d.size(1, 65), d.size(1, 257)
		form := func(f torch.ScoreTransform) operator {
			return func(in []torch.Tensor) []torch.Tensor {
				return []torch.Tensor{torch.MixtureLogProbs(in[0], in[1], in[2], in[3], f)}
			}
		}
		return comparison{operands: []torch.Tensor{d.normal(1, n, k, width), d.normal(1, n, k), d.normal(1, v, width),
			d.maybe(d.normal(1, v))}, values: true, fused: form(nil),
			plain: form(func(scores torch.Tensor) torch.Tensor { return scores })}
	},
	"ContinuousLoss": func(d drawer) comparison {
		table, targets := table(d)
		v, m := table.Size(0), table.Size(1)
		o := torch.ContinuousLossOptions{Kind: torch.Continuous(d.IntN(int(torch.MaxMargin) + 1)), Lambda1: 0.3,
			Lambda2: 0.2, Ignore: ignoredTarget, Scale: 0.5}
		if o.Kind == torch.MaxMargin {
			negatives := targets.Int64s()
			for i := range negatives {
				negatives[i] = d.Int64N(v+1) - 1
			}
			o.Negatives = torch.FromInt64s(negatives, device, int64(len(negatives)))
		}
		form := func(f func(hidden, table, targets torch.Tensor, o torch.ContinuousLossOptions) (loss,
			nll torch.Tensor)) operator {
			return func(in []torch.Tensor) []torch.Tensor {
				loss, nll := f(in[0], in[1], targets, o)
				return []torch.Tensor{loss, nll}
			}
		}
		return comparison{operands: []torch.Tensor{d.normal(1, targets.Size(0), m), table},
			fused: form(torch.ContinuousLoss), plain: form(torch.ContinuousLossReference)}
	},
	"InformativeNegatives": func(d drawer) comparison {
		table, targets := table(d)
		return comparison{
			operands: []torch.Tensor{d.normal(1, targets.Size(0), table.Size(1)), table, d.normal(0.1, table.Size(0))},
			values:   true,
			fused: func(in []torch.Tensor) []torch.Tensor {
				return []torch.Tensor{torch.InformativeNegatives(in[0], in[1], in[2], targets, ignoredTarget)}
			},
			plain: func(in []torch.Tensor) []torch.Tensor {
				v := in[1].Size(0)
				if v == 1 {
					return []torch.Tensor{targets.MulScalar(0).AddScalar(-1)}
				}
				own := targets.MaskedFill(targets.EqualScalar(ignoredTarget), 0) // what such a row gets is not read
				u := in[0].Div(in[0].Norm(1, true))
				scores := u.Sub(in[1].IndexSelect(0, own)).MatMul(in[1].Transpose(0, 1)).Add(in[2])
				own = torch.Arange(v, device).Reshape(1, v).Equal(own.Reshape(-1, 1))
				return []torch.Tensor{scores.MaskedFill(own, math.Inf(-1)).ArgMax(1)}
			},
		}
	},
	"VMFNormaliser": func(d drawer) comparison {
		n, m := d.size(0, 65), d.size(2, 257)
		return comparison{
			operands: []torch.Tensor{d.stream.Uniform(0.1, 300, torch.Float64, device, n)}, values: true,
			fused: func(in []torch.Tensor) []torch.Tensor {
				logC, ratio := torch.VMFNormaliser(in[0], m)
				return []torch.Tensor{logC, ratio}
			},
			plain: func(in []torch.Tensor) []torch.Tensor {
				logC, ratio := make([]float64, n), make([]float64, n)
				for i, kappa := range in[0].Float64s() {
					logC[i], ratio[i] = torch.VMFNormaliserReference(kappa, m)
				}
				return finite(logC, ratio)
			},
		}
	},
	"CosinePenalty": func(d drawer) comparison {
		v, width := d.size(0, 257), d.size(1, 130)
		form := func(f func(w torch.Tensor, weight float64) torch.Tensor) operator {
			return func(in []torch.Tensor) []torch.Tensor { return []torch.Tensor{f(in[0], 5)} }
		}
		return comparison{operands: []torch.Tensor{d.normal(1, v, width)}, fused: form(torch.CosinePenalty),
			plain: form(torch.CosinePenaltyReference)}
	},
	"CosinePenaltyFactored": func(d drawer) comparison {
		// Vectors of one element have cosines of 1 and -1, and gradients that are rounding alone.
		v, width, k := d.size(0, 257), d.size(2, 65), d.size(1, 65)
		return comparison{operands: []torch.Tensor{d.normal(1, v, k), d.normal(1, k), d.normal(1, width, k)},
			fused: func(in []torch.Tensor) []torch.Tensor {
				return []torch.Tensor{torch.CosinePenaltyFactored(in[0], in[1], in[2], 5)}
			},
			plain: func(in []torch.Tensor) []torch.Tensor {
				return []torch.Tensor{torch.CosinePenaltyReference(in[0].Mul(in[1]).MatMul(in[2].Transpose(0, 1)), 5)}
			}}
	},
	"Orthogonality": func(d drawer) comparison {
		rows, k := d.size(0, 257), d.size(1, 257)
		o := torch.OrthogonalityOptions{Frobenius: 0.3, Spectral: 0.7, Scale: 0.5}
		form := func(f func(x, v torch.Tensor, o torch.OrthogonalityOptions) torch.Tensor) operator {
			return func(in []torch.Tensor) []torch.Tensor {
				v := in[1]
				if v.Defined() {
					v = v.Detach()
				}
				return []torch.Tensor{f(in[0], v, o)}
			}
		}
		return comparison{operands: []torch.Tensor{d.normal(1/math.Sqrt(float64(k)), rows, k),
			d.maybe(d.normal(1/math.Sqrt(float64(k)), k))}, fused: form(torch.Orthogonality),
			plain: form(torch.OrthogonalityReference)}
	},
	"Gram": func(d drawer) comparison {
		return comparison{operands: []torch.Tensor{d.normal(1, d.size(0, 257), d.size(0, 257))}, values: true,
			fused: func(in []torch.Tensor) []torch.Tensor { return []torch.Tensor{in[0].Gram()} },
			plain: func(in []torch.Tensor) []torch.Tensor {
				return []torch.Tensor{in[0].Transpose(0, 1).MatMul(in[0])}
			}}
	},
	"DecoderStep": decoderComparison,
	"Packed":      func(d drawer) comparison { return packedComparison(d, torch.Pack, 1e-4) },
	"PackInt8":    func(d drawer) comparison { return packedComparison(d, torch.PackInt8, 0.1) },
	"BeamTopK": func(d drawer) comparison {
		sentences, group, v, width := 1+d.IntN(9), 1+d.IntN(5), d.size(4, 257), d.size(1, 65)
		all := selections(sentences, group, int(v))
		var names []string
		for name := range all {
			names = append(names, name)
		}
		slices.Sort(names)
		b := all[names[d.IntN(len(names))]]
		rows := int64(sentences * group)
		return comparison{operands: []torch.Tensor{d.normal(1, rows, width), d.normal(1, v, width),
			d.maybe(d.normal(1, v))}, values: true,
			fused: func(in []torch.Tensor) []torch.Tensor {
				x := b.FromHidden(in[0], torch.Pack(in[1]), in[2])
				y := b.FromLogProbs(torch.Linear(in[0], in[1], in[2]).LogSoftmax(1))
				return finite(x.Scores, x.Wanted, y.Scores, y.Wanted)
			},
			plain: func(in []torch.Tensor) []torch.Tensor {
				logits := torch.Linear(in[0], in[1], in[2])
				x := b.FromLogProbsReference(b.Masked(logits).LogSoftmax(1))
				y := b.FromLogProbsReference(logits.LogSoftmax(1))
				return finite(x.Scores, x.Wanted, y.Scores, y.Wanted)
			}}
	},
	"Dropout": func(d drawer) comparison {
		x := d.normal(1, d.size(0, 33), d.size(0, 33), d.size(0, 257))
		return comparison{operands: []torch.Tensor{x},
			fused: func(in []torch.Tensor) []torch.Tensor {
				s := torch.NewStream(1, "dropout")
				return []torch.Tensor{torch.Dropout(in[0], 0.3, s), torch.LockedDropout(in[0], 0.3, s),
					torch.Noise(in[0], 0.3, s)}
			},
			plain: func(in []torch.Tensor) []torch.Tensor {
				s, shape := torch.NewStream(1, "dropout"), in[0].Shape()
				mask := torch.DropoutMask(0.3, s, torch.Float64, device, shape...)
				locked := torch.DropoutMask(0.3, s, torch.Float64, device, 1, shape[1], shape[2])
				noise := torch.Noise(torch.Zeros(torch.Float64, device, shape...), 0.3, s)
				return []torch.Tensor{in[0].Mul(mask), in[0].Mul(locked), in[0].Add(noise)}
			}}
	},
	"Split": func(d drawer) comparison {
		dim, parts := d.IntN(2), []int64{d.size(0, 65), d.size(0, 65), d.size(0, 65)}
		shape := []int64{d.size(0, 33), d.size(0, 33)}
		shape[dim] = parts[0] + parts[1] + parts[2]
		return comparison{operands: []torch.Tensor{d.normal(1, shape...)},
			fused: func(in []torch.Tensor) []torch.Tensor { return in[0].Split(dim, parts...) },
			plain: func(in []torch.Tensor) (out []torch.Tensor) {
				start := int64(0)
				for _, n := range parts {
					out, start = append(out, in[0].Narrow(dim, start, n)), start+n
				}
				return out
			}}
	},
}

// softmaxComparison takes a loss by the fused kernel or, by scores, with plain operators of a chunk.
func softmaxComparison(d drawer, byScores bool) comparison {
	c := newLossCase(d.Rand, d.size(0, 130), d.size(1, 130), d.size(1, 257), d.IntN(2) == 0)
	shift := d.maybe(d.stream.Uniform(-1, 4, torch.Float64, device, c.hidden.Size(0)).ClampMin(0))
	form := func(plain bool) operator {
		return func(in []torch.Tensor) []torch.Tensor {
			o := c.options
			o.Plain = plain
			if !in[3].Defined() {
				loss, nll := torch.SoftmaxLoss(in[0], in[1], in[2], c.targets, o)
				return []torch.Tensor{loss, nll}
			}
			return defined(torch.ShiftedSoftmaxLoss(in[0], in[1], in[2], c.targets, in[3], o))
		}
	}
	return comparison{operands: singles(c.hidden, c.weight, c.bias, shift), fused: form(byScores),
		plain: form(!byScores)}
}

// packedComparison takes the products with a weight that is packed.
func packedComparison(d drawer, pack func(weight torch.Tensor) torch.Packed, limit float64) comparison {
	rows, in, out, relu := d.size(0, 130), d.size(1, 257), d.size(1, 257), d.IntN(2) == 0
	return comparison{operands: []torch.Tensor{d.normal(1, rows, in), d.normal(1, out, in), d.maybe(d.normal(1, out))},
		values: true, limit: limit,
		fused: func(in []torch.Tensor) []torch.Tensor {
			return []torch.Tensor{pack(in[1]).Linear(in[0], in[2], relu)}
		},
		plain: func(in []torch.Tensor) []torch.Tensor {
			y := torch.Linear(in[0], in[1], in[2])
			if relu {
				y = y.Relu()
			}
			return []torch.Tensor{y}
		}}
}

// decoderComparison takes a Transformer's step for all sentences at once, and for each of them by itself.
func decoderComparison(d drawer) comparison {
	heads, layers, sentences, beam := d.size(1, 4), 1+d.IntN(2), 1+d.IntN(9), 1+d.IntN(5)
	width, inner, rows := heads*[]int64{1, 3, 8, 32, 64}[d.IntN(5)], d.size(1, 65), sentences*beam
	s := torch.DecoderStep{Heads: int(heads), Epsilon: 1e-5, Attention: true}
	pack := func(out, in int64) {
		s.Weights = append(s.Weights, torch.Pack(d.normal(0.3, out, in)).Tensor(), d.normal(0.3, out))
	}
	norm := func() []torch.Tensor { return []torch.Tensor{d.normal(1, width), d.normal(1, width)} }
	longest, sources := int32(0), int32(0)
	for range sentences {
		n := int32(1 + d.IntN(17))
		s.Starts, s.Lengths = append(s.Starts, sources), append(s.Lengths, n)
		sources, longest = sources+n, max(longest, n)
	}
	for range layers {
		for _, shape := range [][2]int64{{3 * width, width}, {width, width}, {}, {width, width}, {width, width}, {},
			{inner, width}, {width, inner}, {}} {
			if shape[0] == 0 {
				s.Weights = append(s.Weights, norm()...)
			} else {
				pack(shape[0], shape[1])
			}
		}
		s.Memory = append(s.Memory, d.normal(1, int64(sources), 2*width))
	}
	if d.IntN(2) == 0 {
		s.LastNorm = norm()
	}
	steps := d.IntN(4)
	before := make([]int64, steps)
	for t := range before {
		before[t] = d.size(1, 17)
		s.History = append(s.History, d.normal(1, int64(layers), before[t], 2*width))
	}
	for range rows {
		for _, n := range before {
			s.Ancestor = append(s.Ancestor, int32(d.Int64N(n)))
		}
	}
	return comparison{operands: []torch.Tensor{d.normal(1, int64(rows), width)}, values: true,
		fused: func(in []torch.Tensor) []torch.Tensor {
			hidden, kv, attention := s.Run(in[0])
			return []torch.Tensor{hidden, kv, attention}
		},
		plain: func(in []torch.Tensor) []torch.Tensor {
			var hidden, kv, attention []torch.Tensor
			for b := range sentences {
				one := s
				one.Starts, one.Lengths = s.Starts[b:b+1], s.Lengths[b:b+1]
				one.Ancestor = s.Ancestor[b*beam*steps : (b+1)*beam*steps]
				x := in[0].Narrow(0, int64(b*beam), int64(beam)).To(torch.Float32, device)
				h, k, a := one.Run(x)
				hidden, kv = append(hidden, h), append(kv, k)
				attention = append(attention, torch.Cat([]torch.Tensor{a,
					torch.Zeros(torch.Float32, device, int64(beam), int64(longest-s.Lengths[b]))}, 1))
			}
			return []torch.Tensor{torch.Cat(hidden, 0), torch.Cat(kv, 1), torch.Cat(attention, 0)}
		}}
}

// table draws unit vectors [V,M], and targets among them.
func table(d drawer) (table, targets torch.Tensor) {
	v, m := d.size(1, 257), d.size(2, 130)
	ids := make([]int64, d.size(0, 130))
	for i := range ids {
		ids[i] = d.Int64N(v)
	}
	x := d.normal(1, v, m)
	return x.Div(x.Norm(1, true)), torch.FromInt64s(ids, device, int64(len(ids)))
}

// singles are float64 tensors, or zero Tensors, in float32.
func singles(xs ...torch.Tensor) []torch.Tensor {
	for i, x := range xs {
		if x.Defined() {
			xs[i] = x.To(torch.Float32, device)
		}
	}
	return xs
}

// defined are those tensors that are not the zero Tensor.
func defined(xs ...torch.Tensor) []torch.Tensor {
	return slices.DeleteFunc(xs, func(x torch.Tensor) bool { return !x.Defined() })
}
