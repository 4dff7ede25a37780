package sample

import _ "embed"

//go:embed translation.toml
var translationPreset string

//go:embed language.toml
var languagePreset string

// Preset is the preset that trains on the sample, as TOML: a small language model, or a small translator.
func Preset(languageModel bool) string {
	if languageModel {
		return languagePreset
	}
	return translationPreset
}
