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
		Presets: []experiment.Preset{
			{Name: "sample", Size: "1 M parameters", Duration: "2 min on two CPU cores"},
			{Name: "small-ff", Size: "39 M parameters", Duration: "some hours on one GPU"},
			{Name: "small", Size: "16 M parameters", Duration: "some hours on one GPU"},
		},
	})
}
