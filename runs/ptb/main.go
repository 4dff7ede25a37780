// Command ptb trains a language model on Penn Treebank, or on the built-in sample.
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
		Name:          "ptb",
		Summary:       "ptb trains a language model on Penn Treebank, or on the built-in sample.",
		Task:          experiment.LanguageModel,
		FS:            presets,
		DefaultPreset: "awd-lstm",
		SamplePreset:  "sample",
	})
}
