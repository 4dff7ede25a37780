// Package output hands a configuration to the output layer, for whatever network
// stands below it.
//
// # Basics
//
//	layer, err := objectives.New(output.Settings(config), place)
package output

import (
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
)

// Settings are those keys of a configuration that the output layer takes.
func Settings(c experiment.Config) objectives.Settings {
	o := c.Objective
	return objectives.Settings{
		Method: o.Method, LabelSmoothing: o.LabelSmoothing, Smoothing: o.Smoothing, Bias: o.Bias,
		Gamma: o.Gamma, Alpha: o.Alpha, AdversarialMode: o.AdversarialMode, AdversarialRadius: o.AdversarialRadius,
		AdversarialGate: o.AdversarialGate, AdversarialSmoothing: o.AdversarialSmoothing,
		MixtureComponents: o.MixtureComponents, MixtureDropout: o.MixtureDropout,
		AdaptiveCutoffs: o.AdaptiveCutoffs, AdaptiveDivisor: o.AdaptiveDivisor,
		LambdaU: o.LambdaU, LambdaV: o.LambdaV, LambdaUSpectral: o.LambdaUSpectral, LambdaVSpectral: o.LambdaVSpectral,
		Prior: o.Prior, LambdaPrior: o.LambdaPrior, PriorScale: o.PriorScale, PriorNorm: o.PriorNorm, PriorRate: o.PriorRate, PriorPower: o.PriorPower,
		PriorRatio: o.PriorRatio, SpectrumInit: o.SpectrumInit,
		SpectrumHold: o.SpectrumHold, RetractEvery: o.RetractEvery, PlainDescent: c.Train.Optimizer == "sgd", LambdaDOptimal: o.LambdaDOptimal, SNGain: o.SNGain,
		VMFForm: o.VMFForm, VMFLambda1: o.VMFLambda1, VMFLambda2: o.VMFLambda2, VMFLambdaLog1p: o.VMFLambdaLog1p, MapNorm: o.MapNorm,
		L2Form: o.L2Form, Margin: o.Margin,
	}
}
