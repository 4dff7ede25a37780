// Command multi30k trains English-German translation on Multi30k, or on the built-in sample.
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
		Name:          "multi30k",
		Summary:       "multi30k trains English-German translation on Multi30k, or on the built-in sample.",
		Task:          experiment.Translation,
		FS:            presets,
		DefaultPreset: "tiny",
		SamplePreset:  "sample",
	})
}
