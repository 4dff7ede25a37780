// Command own trains a translator on parallel text of your own, with settings that follow the number of its pairs.
//
//	go run ./runs/own -data ../corpus -src en -tgt de
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
		Name:          "own",
		Summary:       "own trains a translator on parallel text of your own; the preset follows the number of its pairs.",
		Task:          experiment.Translation,
		FS:            presets,
		DefaultPreset: "10k",
		BySize:        presetFor,
	})
}

// presetFor is the preset whose settings suit a corpus best. The bounds lie between the sizes that the presets are named after.
func presetFor(pairs int) string {
	switch {
	case pairs <= 60_000:
		return "10k"
	case pairs <= 1_000_000:
		return "200k"
	}
	return "5m"
}
