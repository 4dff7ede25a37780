package objectives

import "cmp"

// Spectrum control (Wang et al. 2020, "Improving neural language generation with spectrum control") is in the files
// spectrum*.go. Here are the methods and their settings. In spectrum_factored.go W becomes U diag(s) V^T;
// spectrum_orthogonality.go and spectrum_prior.go have the penalties on these. Then spectrum_constraints.go and
// spectrum_preconditioner.go have what takes the penalties' place, above all under SGD, spectrum_normalisation.go the
// methods sn and sn-doptimal, and spectrum_polar.go the decomposition that retractions and averages of weights need.

// spectrum is spectrum control with the exponential prior, or with the one that the settings name.
var spectrum = Method{
	Name: "spectrum",
	Summary: "W = U diag(s) Vᵀ with orthonormal U and V, whose singular values s are pulled towards a slowly " +
		"falling exponential",
	Paper: "Wang et al. 2020",
	Formula: "mle with W = U diag(s) V^T + lambda |U^T U - I|^2 + lambda |V^T V - I|^2 + lambda |s - c1 exp(-c2 " +
		"k^gamma)|^2",
	Parameters: "D^2 + D",
	Cost:       "up to 2 V D^2 multiplications per update, 3 N D^2 for the scores, and 3 D^2 for each token that is read",
	Settings:   []any{FactorSettings{}, SpectrumSettings{}},
	Build:      func(s Settings, sgd bool) Pieces { return spectrumControl(s, "", sgd) },
}

// spectrumPoly is spectrum control with the polynomial prior.
var spectrumPoly = Method{
	Name:    "spectrum-poly",
	Summary: "`spectrum` with a power of the rank in place of the exponential",
	Paper:   "Wang et al. 2020",
	Formula: "spectrum with the prior c1 k^-gamma", Parameters: "D^2 + D", Cost: "as spectrum",
	Settings: []any{FactorSettings{}, SpectrumSettings{}},
	Build:    func(s Settings, sgd bool) Pieces { return spectrumControl(s, "polynomial", sgd) },
}

// SpectrumSettings are the keys of spectrum control. The defaults train well under Adam: with weights of 1 the columns
// of U and V stay orthonormal and s stays the spectrum of W, while the gradients of the penalties are small beside that
// of the loss. The penalties on spectral norms are off, because those on Frobenius norms bound them. How the defaults
// were chosen is in docs/results/spectrum.md.
type SpectrumSettings struct {
	Prior        string  `toml:"prior" default:"exponential" choice:"exponential polynomial none" help:"spectrum: how the singular values should fall with their rank k"`
	LambdaPrior  float64 `toml:"lambda_prior" default:"1.0" range:"[0,inf)" help:"spectrum: weight of the squared distance to the prior"`
	PriorScale   float64 `toml:"prior_scale" default:"0.0" range:"[0,inf)" help:"spectrum: c1, the prior's scale; 0 goes by prior_norm"`
	PriorNorm    float64 `toml:"prior_norm" default:"1.0" range:"(0,inf)" help:"spectrum: the prior's Frobenius norm, over that of a dense matrix at its start, where prior_scale is 0"`
	PriorRate    float64 `toml:"prior_rate" default:"0.0" range:"[0,inf)" help:"spectrum: c2, the exponential prior's rate; 0 derives it from prior_ratio"`
	PriorPower   float64 `toml:"prior_power" default:"0.0" range:"[0,10]" help:"spectrum: gamma, the power of k in the prior; 0 is 0.75 in the exponential, and in the polynomial follows from prior_ratio"`
	PriorRatio   float64 `toml:"prior_ratio" default:"0.5" range:"(0,1]" help:"spectrum: smallest over largest value of the prior, where neither prior_rate nor the polynomial's prior_power gives it"`
	SpectrumInit string  `toml:"spectrum_init" default:"prior" choice:"svd prior flat" help:"spectrum: singular values at the start, those of a dense matrix, the prior's, or all 1"`
}

// FactorSettings are the keys of what holds the factors of W, in spectrum control and in spectral normalisation.
type FactorSettings struct {
	LambdaU         float64 `toml:"lambda_u" default:"1.0" range:"[0,inf)" help:"spectrum: weight of the Frobenius penalty that keeps U orthonormal"`
	LambdaV         float64 `toml:"lambda_v" default:"1.0" range:"[0,inf)" help:"spectrum: weight of the Frobenius penalty that keeps V orthonormal"`
	LambdaUSpectral float64 `toml:"lambda_u_spectral" default:"0.0" range:"[0,inf)" help:"spectrum: weight of the spectral-norm penalty that keeps U orthonormal"`
	LambdaVSpectral float64 `toml:"lambda_v_spectral" default:"0.0" range:"[0,inf)" help:"spectrum: weight of the spectral-norm penalty that keeps V orthonormal"`

	SpectrumHold string `toml:"spectrum_hold" default:"penalty" choice:"penalty proximal retraction group" help:"spectrum: penalties alone, s by proximal steps (with sgd U and V too), s so and U and V by retractions, or penalties with the gradients of U, s and V clipped in groups of their own"`
	RetractEvery int    `toml:"retract_every" default:"1" range:"[1,inf)" help:"spectrum: updates between retractions of U and V, or their proximal steps"`
}

var starts = map[string]SpectrumStart{"svd": StartSVD, "prior": StartPrior, "flat": StartFlat}

// spectrumControl has the prior of that kind, or of the settings' where that is empty.
func spectrumControl(settings Settings, kind string, sgd bool) Pieces {
	s, factors := Of[SpectrumSettings](settings), Of[FactorSettings](settings)
	prior := Prior{Scale: s.PriorScale, Norm: s.PriorNorm, Rate: s.PriorRate, Power: s.PriorPower, Ratio: s.PriorRatio}
	if cmp.Or(kind, s.Prior) == "polynomial" {
		prior.Kind = Polynomial
	}
	p := Pieces{Embedding: &Factored{Start: starts[s.SpectrumInit], Prior: prior}}
	p.hold(factors, sgd)
	switch {
	case s.Prior == "none" || s.LambdaPrior == 0:
	case holdings[factors.SpectrumHold].proximal:
		p.Regularizers = append(p.Regularizers, &ProximalPrior{Prior: prior, Weight: s.LambdaPrior})
	default:
		p.Regularizers = append(p.Regularizers, &SpectrumPrior{Prior: prior, Weight: s.LambdaPrior})
	}
	return p
}

// hold says what keeps U and V orthonormal and s near its prior: penalties, unless a constraint takes their place.
type hold struct {
	proximal   bool // s: a proximal step; under sgd U and V too
	retract    bool // U and V: retractions
	clipGroups bool // all three: gradients clipped in groups of their own
}

var holdings = map[string]hold{
	"penalty": {}, "proximal": {proximal: true}, "retraction": {proximal: true, retract: true},
	"group": {clipGroups: true},
}

// hold adds what keeps U and V orthonormal; sgd says that weights move by their gradients times a rate.
func (p *Pieces) hold(s FactorSettings, sgd bool) {
	h := holdings[s.SpectrumHold]
	p.ClipApart = h.clipGroups
	add := func(r Regularizer) { p.Regularizers = append(p.Regularizers, r) }
	if sgd {
		add(&Preconditioner{})
	}
	if h.retract {
		add(&Retraction{Every: s.RetractEvery})
		return
	}
	weights := OrthogonalityWeights{U: s.LambdaU, V: s.LambdaV, USpectral: s.LambdaUSpectral,
		VSpectral: s.LambdaVSpectral}
	switch {
	case !weights.active():
	case h.proximal && sgd:
		add(&ProximalOrthogonality{OrthogonalityWeights: weights, Every: s.RetractEvery})
	default:
		add(&Orthogonality{OrthogonalityWeights: weights})
	}
}
