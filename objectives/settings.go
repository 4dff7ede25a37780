package objectives

import (
	"fmt"
	"math"
	"strings"

	"github.com/aperture-ml/aperture/torch"
)

// Settings name a method and hold the constants of all methods; a method reads
// its own. The words are those of the section objective of a configuration.
type Settings struct {
	Method string // a name of Table, or several joined by a plus

	LabelSmoothing float64 // epsilon
	Smoothing      string  // whose definition: fairseq, pytorch or t2t
	Bias           bool    // a trained bias on the scores

	Gamma float64 // cosreg: weight of the mean cosine

	Alpha                float64 // adversarial: radius relative to |w_y|, or the radius
	AdversarialMode      string  // what is differentiated: code, paper or full
	AdversarialRadius    string  // adaptive, alpha |w_y|, or fixed, alpha
	AdversarialGate      bool    // perturb only where cos(h, w_y) > 0
	AdversarialSmoothing bool    // the mass of label smoothing sees the perturbation

	MixtureComponents int     // mos: K
	MixtureDropout    float64 // of its latent states

	AdaptiveCutoffs string  // adaptive: ranks where clusters begin, parted by commas; none; or empty, to have them chosen
	AdaptiveDivisor float64 // by which each cluster's width is divided; 1 shares W's rows

	LambdaU, LambdaV                 float64 // weights of the squared Frobenius norms of U^T U - I and V^T V - I
	LambdaUSpectral, LambdaVSpectral float64 // weights of their squared spectral norms
	Prior                            string  // exponential, polynomial or none
	LambdaPrior                      float64 // weight of the squared distance to the prior
	PriorScale                       float64 // c1; 0 goes by PriorNorm
	PriorNorm                        float64 // |W|_F over that of a dense matrix at its start
	PriorRate                        float64 // c2; 0 derives it from PriorRatio
	PriorPower                       float64 // gamma
	PriorRatio                       float64 // smallest over largest prior value
	SpectrumInit                     string  // svd, prior or flat
	SpectrumHold                     string  // what holds U, s and V: penalty, proximal, retraction or group
	RetractEvery                     int     // updates between retractions or proximal steps of U and V
	PlainDescent                     bool    // weights move by their gradients times a rate, as under sgd
	LambdaDOptimal                   float64 // sn-doptimal: weight of -mean log |s_k|
	SNGain                           bool    // sn: W times a trained number

	VMFForm                string  // nll, reg1, reg2, both or log1p
	VMFLambda1, VMFLambda2 float64 // of reg1 and reg2: weight of the length, factor of the dot product
	VMFLambdaLog1p         float64 // the cosine at which log1p neither lengthens nor shortens by its second factor
	MapNorm                bool    // LayerNorm after the map to the vectors' space, for vmf and powerspherical
	L2Form                 string  // squared or rooted
	Margin                 float64 // of maxmargin
}

// Defaults are the settings of plain maximum likelihood, with the constants of
// the other methods as they train well under Adam.
//
// The weights of spectrum control were chosen on 300 updates of a Transformer of
// width 128, one seed: with 1 the columns stay within |U^T U - I|_F^2 +
// |V^T V - I|_F^2 = 0.02 and s stays W's spectrum; with 0.01 perplexity is the
// same to 1.2%, but the largest singular value drifts by 30%. From the prior's
// start the gradient's norm is at most 1.3 times that with 0.01, so nothing needs
// clipping; from the start svd it is ten times as large, and clipping would spend
// itself on the prior. The spectral norms are off: the Frobenius norms bound them.
// What else can hold U, s and V stands beside [Retraction] with its results.
// A ratio of 0.5 gave a perplexity of 66.0, 0.2 of 72.2, 0.8 of 66.9.
func Defaults() Settings {
	return Settings{
		Method:    "mle",
		Smoothing: "fairseq",
		Gamma:     1,
		Alpha:     0.005, AdversarialMode: "code", AdversarialRadius: "adaptive",
		MixtureComponents: 15, MixtureDropout: 0.29,
		AdaptiveDivisor: 1,
		LambdaU:         1, LambdaV: 1,
		Prior: "exponential", LambdaPrior: 1,
		PriorNorm: 1, PriorPower: 0.75, PriorRatio: 0.5,
		SpectrumInit: "prior", SpectrumHold: "penalty", RetractEvery: 1,
		LambdaDOptimal: 0.1,
		VMFForm:        "both", VMFLambda1: 0.02, VMFLambda2: 0.1, VMFLambdaLog1p: 0.2, MapNorm: true,
		L2Form: "squared", Margin: 0.5,
	}
}

var (
	smoothings       = map[string]torch.Smoothing{"fairseq": torch.SmoothingFairseq, "pytorch": torch.SmoothingPyTorch, "t2t": torch.SmoothingT2T}
	adversarialModes = map[string]AdversarialMode{"code": AdversarialCode, "paper": AdversarialPaper, "full": AdversarialFull}
	starts           = map[string]SpectrumStart{"svd": StartSVD, "prior": StartPrior, "flat": StartFlat}
)

var (
	vmfForms = map[string]torch.Continuous{"nll": torch.VMFNLL, "reg1": torch.VMFReg1, "reg2": torch.VMFReg2, "both": torch.VMFReg1Reg2, "log1p": torch.VMFLog1p}
	l2Forms  = map[string]torch.Continuous{"squared": torch.SquaredL2, "rooted": torch.RootedL2}
)

// check says which setting makes no sense, and what would.
func (s Settings) check() error {
	for _, f := range []struct {
		key       string
		value     float64
		low, high float64 // high is open
	}{
		{"label_smoothing", s.LabelSmoothing, 0, 1},
		{"gamma", s.Gamma, 0, math.Inf(1)},
		{"alpha", s.Alpha, 0, math.Inf(1)},
		{"mixture_dropout", s.MixtureDropout, 0, 1},
		{"lambda_u", s.LambdaU, 0, math.Inf(1)},
		{"lambda_v", s.LambdaV, 0, math.Inf(1)},
		{"lambda_u_spectral", s.LambdaUSpectral, 0, math.Inf(1)},
		{"lambda_v_spectral", s.LambdaVSpectral, 0, math.Inf(1)},
		{"lambda_prior", s.LambdaPrior, 0, math.Inf(1)},
		{"lambda_d_optimal", s.LambdaDOptimal, 0, math.Inf(1)},
		{"prior_scale", s.PriorScale, 0, math.Inf(1)},
		{"prior_norm", s.PriorNorm, math.SmallestNonzeroFloat64, math.Inf(1)},
		{"prior_rate", s.PriorRate, 0, math.Inf(1)},
		{"prior_power", s.PriorPower, math.SmallestNonzeroFloat64, math.Inf(1)},
		{"prior_ratio", s.PriorRatio, math.SmallestNonzeroFloat64, math.Nextafter(1, 2)},
		{"vmf_lambda1", s.VMFLambda1, 0, math.Inf(1)},
		{"vmf_lambda2", s.VMFLambda2, 0, math.Inf(1)},
		{"vmf_lambda_log1p", s.VMFLambdaLog1p, 0, math.Inf(1)},
		{"margin", s.Margin, 0, math.Inf(1)},
	} {
		if !(f.value >= f.low && f.value < f.high) {
			return fmt.Errorf("objective.%s is %v: %s", f.key, f.value, rangeWords(f.low, f.high))
		}
	}
	if _, known := smoothings[s.Smoothing]; !known {
		return fmt.Errorf("objective.smoothing is %q: use fairseq, pytorch or t2t", s.Smoothing)
	}
	if _, known := adversarialModes[s.AdversarialMode]; !known {
		return fmt.Errorf("objective.adversarial_mode is %q: use code, paper or full", s.AdversarialMode)
	}
	if s.AdversarialRadius != "adaptive" && s.AdversarialRadius != "fixed" {
		return fmt.Errorf("objective.adversarial_radius is %q: use adaptive or fixed", s.AdversarialRadius)
	}
	if s.MixtureComponents < 1 {
		return fmt.Errorf("objective.mixture_components is %d: it must be at least 1", s.MixtureComponents)
	}
	if !(s.AdaptiveDivisor >= 1) || math.IsInf(s.AdaptiveDivisor, 1) {
		return fmt.Errorf("objective.adaptive_divisor is %v: it must be a number of at least 1", s.AdaptiveDivisor)
	}
	if _, err := cutoffs(s.AdaptiveCutoffs, math.MaxInt64); err != nil {
		return err
	}
	if _, known := starts[s.SpectrumInit]; !known {
		return fmt.Errorf("objective.spectrum_init is %q: use svd, prior or flat", s.SpectrumInit)
	}
	if _, known := holds[s.SpectrumHold]; !known {
		return fmt.Errorf("objective.spectrum_hold is %q: use penalty, proximal, retraction or group", s.SpectrumHold)
	}
	if s.RetractEvery < 1 {
		return fmt.Errorf("objective.retract_every is %d: it must be at least 1", s.RetractEvery)
	}
	if !strings.Contains(" exponential polynomial none ", " "+s.Prior+" ") {
		return fmt.Errorf("objective.prior is %q: use exponential, polynomial or none", s.Prior)
	}
	if _, known := vmfForms[s.VMFForm]; !known {
		return fmt.Errorf("objective.vmf_form is %q: use nll, reg1, reg2, both or log1p", s.VMFForm)
	}
	if _, known := l2Forms[s.L2Form]; !known {
		return fmt.Errorf("objective.l2_form is %q: use squared or rooted", s.L2Form)
	}
	return nil
}

func rangeWords(low, high float64) string {
	switch {
	case low == 0 && math.IsInf(high, 1):
		return "it must be a number of at least 0"
	case math.IsInf(high, 1):
		return "it must be a number above 0"
	case low == 0:
		return "it must be at least 0 and below 1"
	}
	return "it must be above 0 and at most 1"
}
