package main

import "github.com/aperture-ml/aperture/runs/internal/experiment"

// objectiveRows are output layers: the loss of the softmax alone, in the sizes of
// a language model and of a translator, and what methods cost a whole training
// step over maximum likelihood.
var objectiveRows = []row{
	{"softmax_loss/V=33278", "s", func(b *bench) (*race, error) { return b.softmaxLoss(1400, 400, 33278) }},
	{"softmax_loss/V=37000", "s", translatorLoss},
	{"method/cosreg", "tokens_per_s", func(b *bench) (*race, error) { return b.method("cosreg", smallNetwork) }},
	{"method/adversarial", "tokens_per_s", func(b *bench) (*race, error) { return b.method("adversarial", smallNetwork) }},
	spectrumRow,
	vmfRow,
	{"method/spectrum-all", "tokens_per_s", func(b *bench) (*race, error) { return b.method("spectrum", smallNetwork, spectralNorms) }},
	{"method/mos", "s", func(b *bench) (*race, error) { return b.mixtureLoss(1400, 400, 33278, 15) }},
}

// spectrumRow is spectrum control with the settings that are its defaults.
var spectrumRow = row{"method/spectrum", "tokens_per_s", func(b *bench) (*race, error) { return b.method("spectrum", smallNetwork) }}

// translatorLoss is the output layer of the published base model.
func translatorLoss(b *bench) (*race, error) { return b.softmaxLoss(4096, 512, 37000) }

// spectralNorms adds the terms that power iteration serves.
func spectralNorms(o *experiment.Objective) { o.LambdaUSpectral, o.LambdaVSpectral = 1, 1 }
