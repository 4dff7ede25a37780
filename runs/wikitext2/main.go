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
	})
}
