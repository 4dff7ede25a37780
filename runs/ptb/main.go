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
		Presets: []experiment.Preset{
			{Name: "sample", Size: "0.9 M parameters", Duration: "5 min on two CPU cores"},
			{Name: "quick", Size: "1.4 M parameters", Duration: "5 min on two CPU cores"},
			{Name: "small", Size: "2.7 M parameters", Duration: "15 min on two CPU cores"},
			{Name: "awd-lstm", Size: "24.2 M parameters", Duration: "a day on a GPU"},
			{Name: "awd-lstm-finetune", Size: "24.2 M parameters", Duration: "a day on a GPU"},
			{Name: "awd-cosreg", Size: "24.2 M parameters", Duration: "a day on a GPU"},
			{Name: "awd-spectrum", Size: "24.4 M parameters", Duration: "a day on a GPU"},
			{Name: "awd-adversarial", Size: "24.2 M parameters", Duration: "days on a GPU"},
			{Name: "awd-adversarial-control", Size: "24.2 M parameters", Duration: "days on a GPU"},
			{Name: "qrnn", Size: "24.0 M parameters", Duration: "a day on a GPU"},
			{Name: "qrnn-adversarial", Size: "24.0 M parameters", Duration: "a day on a GPU"},
			{Name: "qrnn-spectrum", Size: "24.2 M parameters", Duration: "a day on a GPU"},
			{Name: "mos", Size: "21.5 M parameters", Duration: "days on a GPU"},
			{Name: "mos-finetune", Size: "21.5 M parameters", Duration: "days on a GPU"},
			{Name: "mos-spectrum", Size: "21.6 M parameters", Duration: "days on a GPU"},
			{Name: "mos-adversarial", Size: "21.5 M parameters", Duration: "days on a GPU"},
			{Name: "mos-adversarial-control", Size: "21.5 M parameters", Duration: "days on a GPU"},
			{Name: "mos-shuffle", Size: "21.5 M parameters", Duration: "days on a GPU"},
			{Name: "mos-shuffle-adversarial", Size: "21.5 M parameters", Duration: "days on a GPU"},
			{Name: "mos-shuffle-adversarial-control", Size: "21.5 M parameters", Duration: "days on a GPU"},
		},
	})
}
