// Command wikitext2 trains a language model on WikiText-2, or on the built-in sample.
package main

import (
	"embed"

	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/train"
)

//go:embed *.toml
var presets embed.FS

func main() {
	train.Main(&experiment.Spec{
		Name:          "wikitext2",
		Summary:       "wikitext2 trains a language model on WikiText-2, or on the built-in sample.",
		Task:          experiment.LanguageModel,
		FS:            presets,
		DefaultPreset: "awd-lstm",
		SamplePreset:  "sample",
		Presets: []experiment.Preset{
			{Name: "sample", Size: "0.9 M parameters", Duration: "5 min on two CPU cores"},
			{Name: "awd-lstm", Size: "33.6 M parameters", Duration: "a day on a GPU"},
			{Name: "awd-lstm-finetune", Size: "33.6 M parameters", Duration: "a day on a GPU"},
			{Name: "awd-cosreg", Size: "33.6 M parameters", Duration: "a day on a GPU"},
			{Name: "awd-cosreg-finetune", Size: "33.6 M parameters", Duration: "a day on a GPU"},
			{Name: "awd-spectrum", Size: "33.7 M parameters", Duration: "a day on a GPU"},
			{Name: "awd-spectrum-finetune", Size: "33.7 M parameters", Duration: "a day on a GPU"},
			{Name: "awd-spectrum-poly", Size: "33.7 M parameters", Duration: "a day on a GPU"},
			{Name: "awd-sn", Size: "33.7 M parameters", Duration: "a day on a GPU"},
			{Name: "awd-sn-doptimal", Size: "33.7 M parameters", Duration: "a day on a GPU"},
			{Name: "awd-adversarial", Size: "33.6 M parameters", Duration: "days on a GPU"},
			{Name: "awd-adversarial-control", Size: "33.6 M parameters", Duration: "days on a GPU"},
			{Name: "qrnn", Size: "33.4 M parameters", Duration: "a day on a GPU"},
			{Name: "qrnn-adversarial", Size: "33.4 M parameters", Duration: "a day on a GPU"},
			{Name: "qrnn-spectrum", Size: "33.6 M parameters", Duration: "a day on a GPU"},
			{Name: "mos", Size: "34.9 M parameters", Duration: "days on a GPU"},
			{Name: "mos-finetune", Size: "34.9 M parameters", Duration: "days on a GPU"},
			{Name: "mos-spectrum", Size: "35.0 M parameters", Duration: "days on a GPU"},
			{Name: "mos-adversarial", Size: "34.9 M parameters", Duration: "days on a GPU"},
			{Name: "mos-adversarial-control", Size: "34.9 M parameters", Duration: "days on a GPU"},
			{Name: "mos-shuffle", Size: "34.9 M parameters", Duration: "days on a GPU"},
			{Name: "mos-shuffle-adversarial", Size: "34.9 M parameters", Duration: "days on a GPU"},
			{Name: "mos-shuffle-adversarial-control", Size: "34.9 M parameters", Duration: "days on a GPU"},
		},
	})
}
