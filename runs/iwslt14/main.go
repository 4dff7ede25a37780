// Command iwslt14 trains German-English translation on IWSLT14, or on the built-in sample.
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
		Name:          "iwslt14",
		Summary:       "iwslt14 trains German-English translation on IWSLT14, or on the built-in sample.",
		Task:          experiment.Translation,
		FS:            presets,
		DefaultPreset: "small-ff",
		SamplePreset:  "sample",
	})
}
