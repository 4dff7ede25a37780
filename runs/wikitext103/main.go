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
	})
}
