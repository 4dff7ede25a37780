package experiment

import (
	"io/fs"

	"github.com/aperture-ml/aperture/runs"
)

// shipped are the runs with presets, each a folder under runs/.
var shipped = []Spec{
	{Name: "iwslt14", Summary: "iwslt14 trains German-English translation on IWSLT14, or on the built-in sample.", Task: Translation, DefaultPreset: "small-ff"},
	{Name: "iwslt16", Summary: "iwslt16 trains German-English translation on IWSLT16, or on the built-in sample.", Task: Translation, DefaultPreset: "continuous"},
	{Name: "multi30k", Summary: "multi30k trains English-German translation on Multi30k, or on the built-in sample.", Task: Translation, DefaultPreset: "tiny"},
	{Name: "ptb", Summary: "ptb trains a language model on Penn Treebank, or on the built-in sample.", Task: LanguageModel, DefaultPreset: "awd-lstm"},
	{Name: "wikitext103", Summary: "wikitext103 trains a language model on WikiText-103, or on the built-in sample.", Task: LanguageModel, DefaultPreset: "xl-4"},
	{Name: "wikitext2", Summary: "wikitext2 trains a language model on WikiText-2, or on the built-in sample.", Task: LanguageModel, DefaultPreset: "awd-lstm"},
	{Name: "wmt14", Summary: "wmt14 trains English-German translation on WMT14, or on the built-in sample.", Task: Translation, DefaultPreset: "base"},
	{Name: "wmt16", Summary: "wmt16 trains German-English translation on WMT16, or on the built-in sample.", Task: Translation, DefaultPreset: "continuous"},
	{Name: "own", Summary: "own trains a translator on parallel text of your own; the preset follows the number of its pairs.", Task: Translation, DefaultPreset: "10k", BySize: ownPreset},
}

// SpecOf describes the run of a folder under runs/; it panics where the list above lacks it.
func SpecOf(name string) *Spec {
	for _, s := range shipped {
		if s.Name == name {
			presets, err := fs.Sub(runs.Presets, name)
			if err != nil {
				panic(err)
			}
			s.FS = presets
			return &s
		}
	}
	panic("runs/internal/experiment/shipped.go does not list the run " + name)
}

// Runs lists the runs with presets.
func Runs() []string {
	names := make([]string, len(shipped))
	for i, s := range shipped {
		names[i] = s.Name
	}
	return names
}

// ownPreset is the preset whose settings suit a user's corpus best. The bounds lie between the sizes that the presets are named after.
func ownPreset(pairs int) string {
	switch {
	case pairs <= 60_000:
		return "10k"
	case pairs <= 1_000_000:
		return "200k"
	}
	return "5m"
}
