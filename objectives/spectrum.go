package objectives

// spectrum is spectrum control with the prior of that kind.
func (s Settings) spectrum(kind string) Method {
	prior := Prior{Scale: s.PriorScale, Norm: s.PriorNorm, Rate: s.PriorRate, Power: s.PriorPower, Ratio: s.PriorRatio}
	if kind == "polynomial" {
		prior.Kind = Polynomial
	}
	m := Method{
		Embedding: &Factored{Start: starts[s.SpectrumInit], Prior: prior},
	}
	h := holds[s.SpectrumHold]
	m.Regularizers = s.holdFactors(h)
	switch {
	case s.Prior == "none" || s.LambdaPrior == 0:
	case h.proximal:
		m.Regularizers = append(m.Regularizers, &ProximalPrior{Prior: prior, Weight: s.LambdaPrior})
	default:
		m.Regularizers = append(m.Regularizers, &SpectrumPrior{Prior: prior, Weight: s.LambdaPrior})
	}
	return m
}

// spectralNormalisation starts flat, as its authors do, whatever the start of
// spectrum control.
func (s Settings) spectralNormalisation() Method {
	return Method{
		Embedding:    &Factored{Start: StartFlat, Gain: s.SNGain},
		Regularizers: append(s.holdFactors(holds[s.SpectrumHold]), &SpectralNormalisation{}),
	}
}

// hold says what keeps U and V orthonormal and s near its prior: penalties, unless
// a constraint takes their place.
type hold struct {
	proximal bool // s: a proximal step; under plain gradient descent U and V too
	retract  bool // U and V: retractions
	apart    bool // all three: gradients clipped apart
}

var holds = map[string]hold{"penalty": {}, "proximal": {proximal: true}, "retraction": {proximal: true, retract: true}, "group": {apart: true}}

// holdFactors are the pieces that keep U and V orthonormal.
func (s Settings) holdFactors(h hold) (pieces []Regularizer) {
	if s.PlainDescent {
		pieces = append(pieces, &Preconditioner{})
	}
	if h.apart {
		pieces = append(pieces, &Apart{})
	}
	if h.retract {
		return append(pieces, &Retraction{Every: s.RetractEvery})
	}
	weights := OrthogonalityWeights{U: s.LambdaU, V: s.LambdaV, USpectral: s.LambdaUSpectral, VSpectral: s.LambdaVSpectral}
	switch {
	case !weights.active():
	case h.proximal && s.PlainDescent:
		pieces = append(pieces, &ProximalOrthogonality{OrthogonalityWeights: weights, Every: s.RetractEvery})
	default:
		pieces = append(pieces, &Orthogonality{OrthogonalityWeights: weights})
	}
	return pieces
}
