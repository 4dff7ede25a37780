// Package runs holds the presets of all runs: the files RUN/NAME.toml. A program of a run is a folder of its own here.
package runs

import "embed"

// Presets are the presets' files, in a folder for each run.
//
//go:embed */*.toml
var Presets embed.FS
