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
			{Name: "sample", File: "sample.toml", Size: "0.9 M parameters", Duration: "5 min on two CPU cores"},
			{Name: "xl-4", File: "xl-4.toml", Size: "120 M parameters", Duration: "a day on a GPU"},
			{Name: "xl-4-spectrum", File: "xl-4-spectrum.toml", Size: "120 M parameters", Duration: "a day on a GPU"},
			{Name: "xl-16", File: "xl-16.toml", Size: "151 M parameters", Duration: "days on a GPU"},
			{Name: "xl-16-spectrum", File: "xl-16-spectrum.toml", Size: "151 M parameters", Duration: "days on a GPU"},
			{Name: "xl-16-spectrum-exponential", File: "xl-16-spectrum-exponential.toml", Size: "151 M parameters", Duration: "days on a GPU"},
			{Name: "qrnn", File: "qrnn.toml", Size: "154 M parameters", Duration: "a day on a GPU"},
			{Name: "qrnn-adversarial", File: "qrnn-adversarial.toml", Size: "154 M parameters", Duration: "a day on a GPU"},
			{Name: "qrnn-spectrum", File: "qrnn-spectrum.toml", Size: "154 M parameters", Duration: "a day on a GPU"},
		},
	})
}
