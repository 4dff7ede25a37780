package objectives

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/aperture-ml/aperture/torch"
)

// A layer may start from the weights of another one, of another method too, so that it scores as that one did.
// [Settings.StartsFrom] says for which methods that can be, and [Output.StartFrom] makes the weights.

// StartsFrom is an error where a layer of these settings cannot have the scores of one of the other settings, whatever
// its weights. What softcap, sigsoftmax and their kind make of scores is left out of account.
func (s Settings) StartsFrom(other Settings) error {
	to, err := s.Resolve()
	if err != nil {
		return err
	}
	from, err := other.Resolve()
	if err != nil {
		return err
	}
	refuse := func(why string) error {
		return fmt.Errorf("objective.method = %q cannot start from weights of %q: %s", s.Method, other.Method, why)
	}
	switch {
	case to.WordTargets && !from.WordTargets:
		return refuse("it aims at vectors of words, and these were trained for a softmax; choose a method with a " +
			"softmax, or train from the beginning")
	case from.WordTargets && !to.WordTargets:
		return refuse("it trains an output matrix, and these aim at fixed vectors of words; choose the method that " +
			"they were trained with")
	case to.mapNorm() != from.mapNorm():
		return refuse("one of the two normalises what its map gives (objective.map_norm), and the other does not; " +
			"choose the method and the objective.map_norm that they were trained with")
	case to.scoring() != from.scoring():
		return refuse("one of the two has weights beside the output matrix that the other lacks; choose the method " +
			"that they were trained with, or train from the beginning")
	case from.bias() && !to.bias():
		return refuse("it has no bias, and these were trained with one; start from a run with objective.bias = false, " +
			"or train from the beginning")
	case to.bias() && !from.bias():
		return refuse("it has a bias, and these were trained without one; set objective.bias = false")
	case to.fixesLargest() && !from.fixesLargest():
		return refuse("objective.sn_gain = false fixes the largest singular value of the output matrix at 1, and " +
			"theirs is another; set objective.sn_gain = true")
	}
	return nil
}

// scoring tells apart the likelihoods that score by weights of their own beside W.
func (p Pieces) scoring() reflect.Type {
	if _, is := p.Likelihood.(*Headless); is { // which evaluates as a softmax
		return reflect.TypeFor[*Softmax]()
	}
	return reflect.TypeOf(p.Likelihood)
}

// mapNorm reports whether a map to vectors has a layer normalisation behind it.
func (p Pieces) mapNorm() bool {
	l, is := p.Likelihood.(*Continuous)
	return is && l.Norm
}

// bias reports whether one softmax over the vocabulary has a bias.
func (p Pieces) bias() bool {
	l, is := p.Likelihood.(*Softmax)
	return is && l.Bias
}

// fixesLargest reports whether the largest singular value of W is fixed.
func (p Pieces) fixesLargest() bool {
	f, is := p.Embedding.(*Factored)
	return is && !f.Gain && slices.ContainsFunc(p.Regularizers, func(r Regularizer) bool {
		_, normalises := r.(*SpectralNormalisation)
		return normalises
	})
}

// StartFrom turns the weights of another layer, all parameters of its model by name, into those with which this layer
// scores alike. Where both parameterise W alike the weights stay as they are, bit for bit; else W goes from one matrix
// to its singular value decomposition or back. Both layers have the vocabulary, the width and the names of parameters
// in common.
func (o *Output) StartFrom(other *Output, weights map[string]torch.Tensor) error {
	if slices.Equal(o.own, other.own) {
		return nil
	}
	return torch.Try(func() error {
		other.Simplify(weights)
		if e, is := o.method.Embedding.(*Factored); is {
			return e.factor(weights, o.kept.rows)
		}
		return nil
	})
}

// tolerance is how far the product of its factors may be from W, relative to the largest element of W.
const tolerance = 1e-5

// factor replaces W among weights by its factors; rows are names of what is scored beside the rows of W.
func (e *Factored) factor(weights map[string]torch.Tensor, rows []string) error {
	matrix := e.name + ".weight"
	w_VD := weights[matrix].Detach().To(torch.Float64, torch.CPU)
	delete(weights, matrix)
	u_VK, s_K, v_DK := decompose(w_VD, e.s.Size(0))
	lost := func(factor_NK, whole_ND torch.Tensor) bool { // whether the factor, with s and V, is not the whole
		product_ND := factor_NK.Mul(s_K).MatMul(v_DK.Transpose(0, 1))
		return largest(product_ND.Sub(whole_ND)) > tolerance*largest(whole_ND)
	}
	if lost(u_VK, w_VD) {
		return fmt.Errorf("an output matrix of %d rows, among them that of padding, is no product of %d singular values: "+
			"choose a method that keeps it whole, such as mle", w_VD.Size(0), s_K.Size(0))
	}
	weights[e.name+".u"], weights[e.name+".v"] = u_VK.MulScalar(1/e.c), v_DK
	for _, name := range rows {
		rows_RD := weights[name].Detach().To(torch.Float64, torch.CPU)
		factor_RK := rows_RD.MatMul(v_DK).Div(s_K.ClampMin(1e-30))
		if lost(factor_RK, rows_RD) {
			return fmt.Errorf("%s is no product with the %d singular values of an output matrix of %d rows: choose a "+
				"method that keeps it whole, such as adaptive", name, s_K.Size(0), w_VD.Size(0))
		}
		weights[name] = factor_RK.MulScalar(1 / e.c)
	}
	if e.gain.Defined() {
		gain := s_K.MaxDim(0, true)
		weights[e.name+".gain"], s_K = gain, s_K.Div(gain)
	}
	weights[e.name+".s"] = s_K
	return nil
}

// largest is the largest size of an element.
func largest(x torch.Tensor) float64 { return x.Abs().Reshape(-1).MaxDim(0, true).Item() }
