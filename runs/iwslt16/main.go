// Command iwslt16 trains German-English translation on IWSLT16, or on the built-in sample.
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
		Name:          "iwslt16",
		Summary:       "iwslt16 trains German-English translation on IWSLT16, or on the built-in sample.",
		Task:          experiment.Translation,
		FS:            presets,
		DefaultPreset: "continuous",
		SamplePreset:  "sample",
	})
}
