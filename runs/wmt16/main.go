// Command wmt16 trains German-English translation on WMT16, or on the built-in sample.
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
		Name:          "wmt16",
		Summary:       "wmt16 trains German-English translation on WMT16, or on the built-in sample.",
		Task:          experiment.Translation,
		FS:            presets,
		DefaultPreset: "continuous",
		SamplePreset:  "sample",
	})
}
