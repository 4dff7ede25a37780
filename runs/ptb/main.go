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
			{Name: "sample", File: "sample.toml", Size: "0.9 M parameters", Duration: "5 min on two CPU cores"},
			{Name: "quick", File: "quick.toml", Size: "1.4 M parameters", Duration: "5 min on two CPU cores"},
			{Name: "small", File: "small.toml", Size: "2.7 M parameters", Duration: "15 min on two CPU cores"},
			{Name: "awd-lstm", File: "awd-lstm.toml", Size: "24.2 M parameters", Duration: "a day on a GPU"},
			{Name: "awd-lstm-finetune", File: "awd-lstm-finetune.toml", Size: "24.2 M parameters", Duration: "a day on a GPU"},
			{Name: "awd-cosreg", File: "awd-cosreg.toml", Size: "24.2 M parameters", Duration: "a day on a GPU"},
			{Name: "awd-spectrum", File: "awd-spectrum.toml", Size: "24.4 M parameters", Duration: "a day on a GPU"},
			{Name: "awd-adversarial", File: "awd-adversarial.toml", Size: "24.2 M parameters", Duration: "days on a GPU"},
			{Name: "awd-adversarial-control", File: "awd-adversarial-control.toml", Size: "24.2 M parameters", Duration: "days on a GPU"},
			{Name: "qrnn", File: "qrnn.toml", Size: "24.0 M parameters", Duration: "a day on a GPU"},
			{Name: "qrnn-adversarial", File: "qrnn-adversarial.toml", Size: "24.0 M parameters", Duration: "a day on a GPU"},
			{Name: "qrnn-spectrum", File: "qrnn-spectrum.toml", Size: "24.2 M parameters", Duration: "a day on a GPU"},
			{Name: "mos", File: "mos.toml", Size: "21.5 M parameters", Duration: "days on a GPU"},
			{Name: "mos-finetune", File: "mos-finetune.toml", Size: "21.5 M parameters", Duration: "days on a GPU"},
			{Name: "mos-spectrum", File: "mos-spectrum.toml", Size: "21.6 M parameters", Duration: "days on a GPU"},
			{Name: "mos-adversarial", File: "mos-adversarial.toml", Size: "21.5 M parameters", Duration: "days on a GPU"},
			{Name: "mos-adversarial-control", File: "mos-adversarial-control.toml", Size: "21.5 M parameters", Duration: "days on a GPU"},
			{Name: "mos-shuffle", File: "mos-shuffle.toml", Size: "21.5 M parameters", Duration: "days on a GPU"},
			{Name: "mos-shuffle-adversarial", File: "mos-shuffle-adversarial.toml", Size: "21.5 M parameters", Duration: "days on a GPU"},
			{Name: "mos-shuffle-adversarial-control", File: "mos-shuffle-adversarial-control.toml", Size: "21.5 M parameters", Duration: "days on a GPU"},
		},
	})
}
