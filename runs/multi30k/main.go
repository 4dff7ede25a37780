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
		Presets: []experiment.Preset{
			{Name: "sample", Size: "1 M parameters", Duration: "2 min on two CPU cores"},
			{Name: "quick", Size: "2.1 M parameters", Duration: "20 to 30 min on two CPU cores"},
			{Name: "small", Size: "1.8 M parameters", Duration: "5 to 10 min on two CPU cores"},
			{Name: "tiny", Size: "2.6 M parameters", Duration: "4 h on two CPU cores"},
		},
	})
}
