package main

import (
	"slices"

	"github.com/aperture-ml/aperture/objectives"
)

// objectiveRows are output layers: losses alone, in the sizes of language models
// and of translators, and what methods cost a whole training step over maximum
// likelihood.
var objectiveRows = withMethods([]row{
	{"softmax_loss/V=33278", "s", softmaxLayer(1400, 400, 33278).race},
	{"softmax_loss/V=37000", "s", translatorLayer.race},
	{"method/spectrum-all", "tokens_per_s", func(b *bench) (*race, error) { return b.method("spectrum", smallNetwork, spectralNorms) }},
	{"method/mos", "s", mixtureRace},
	{"vmf_loss/V=50000", "s", vectorLayer(4096, 1024, 50000, 300).race},
	{"vmf_model/V=50000", "sentences_per_s", func(b *bench) (*race, error) { return publishedAttentional.race(b, "vmf", sentencesOf) }},
})

// withMethods adds a row for each method that scores words and has none yet: the method at its defaults beside mle.
func withMethods(rows []row) []row {
	for _, m := range objectives.Methods() {
		r := methodRow(m.Name)
		there := slices.ContainsFunc(rows, func(other row) bool { return other.name == r.name })
		if !m.Needs.WordTargets && !there && m.Name != objectives.Defaults().Method {
			rows = append(rows, r)
		}
	}
	return rows
}

func methodRow(name string) row {
	return row{"method/" + name, "tokens_per_s", func(b *bench) (*race, error) { return b.method(name, smallNetwork) }}
}

// translatorLayer is the output layer of the published base model.
var translatorLayer = softmaxLayer(4096, 512, 37000)

// spectralNorms adds the terms that power iteration serves.
func spectralNorms(o *objectives.Settings) { o.Set("lambda_u_spectral", 1, "lambda_v_spectral", 1) }

// mixturePositions is what the method's authors score at once: 20 columns of 70 words.
const mixturePositions = 1400

// plainCopies is how many arrays [N,K,V] the plain formulation of a mixture holds at
// its peak, as measured: scores, their softmaxes and two gradients, not all at once.
const plainCopies = 3.5

// mixtureRace races a mixture of 15 softmaxes, if its peer has room.
func mixtureRace(b *bench) (*race, error) {
	const width, vocabulary, components = 400, 33278, 15
	available, err := availableMemory()
	if err != nil {
		return nil, err
	}
	needed := int64(plainCopies * 4 * components * vocabulary * float64(b.Positions))
	if err := fits("method/mos", needed, available, "name fewer positions with -positions"); err != nil {
		return nil, err
	}
	return mixtureLayer(b.Positions, width, vocabulary, components).race(b)
}
