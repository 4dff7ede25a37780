// Command wmt14 trains English-German translation on WMT14, or on the built-in sample.
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
		Name:          "wmt14",
		Summary:       "wmt14 trains English-German translation on WMT14, or on the built-in sample.",
		Task:          experiment.Translation,
		FS:            presets,
		DefaultPreset: "base",
		SamplePreset:  "sample",
	})
}
