// Command wikitext103 trains a language model on WikiText-103, or on the built-in sample.
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
		Name:          "wikitext103",
		Summary:       "wikitext103 trains a language model on WikiText-103, or on the built-in sample.",
		Task:          experiment.LanguageModel,
		FS:            presets,
		DefaultPreset: "xl-4",
		SamplePreset:  "sample",
		Presets: []experiment.Preset{
			{Name: "sample", Size: "0.9 M parameters", Duration: "5 min on two CPU cores"},
			{Name: "xl-4", Size: "120 M parameters", Duration: "a day on a GPU"},
			{Name: "xl-4-spectrum", Size: "120 M parameters", Duration: "a day on a GPU"},
			{Name: "xl-16", Size: "151 M parameters", Duration: "days on a GPU"},
			{Name: "xl-16-spectrum", Size: "151 M parameters", Duration: "days on a GPU"},
			{Name: "xl-16-spectrum-exponential", Size: "151 M parameters", Duration: "days on a GPU"},
			{Name: "qrnn", Size: "154 M parameters", Duration: "a day on a GPU"},
			{Name: "qrnn-adversarial", Size: "154 M parameters", Duration: "a day on a GPU"},
			{Name: "qrnn-spectrum", Size: "154 M parameters", Duration: "a day on a GPU"},
		},
	})
}
