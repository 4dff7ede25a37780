package experiment

import (
	"fmt"
	"io/fs"
	"slices"

	"github.com/aperture-ml/aperture/runs"
	"github.com/aperture-ml/aperture/runs/internal/command"
)

// shipped are the runs with presets, each a folder under runs/.
var shipped = []Spec{
	trains("iwslt14", Translation, "German-English translation on IWSLT14", "small-ff"),
	trains("iwslt16", Translation, "German-English translation on IWSLT16", "continuous"),
	trains("multi30k", Translation, "English-German translation on Multi30k", "tiny"),
	trains("ptb", LanguageModel, "a language model on Penn Treebank", "awd-lstm"),
	trains("wikitext103", LanguageModel, "a language model on WikiText-103", "xl-4"),
	trains("wikitext2", LanguageModel, "a language model on WikiText-2", "awd-lstm"),
	trains("wmt14", Translation, "English-German translation on WMT14", "base"),
	trains("wmt16", Translation, "German-English translation on WMT16", "continuous"),
	{Name: "own", Task: Translation, DefaultPreset: "10k", BySize: ownPreset,
		Summary: "own trains a translator on parallel text of your own; the preset follows the number of its pairs."},
}

func trains(name string, task Task, what, preset string) Spec {
	return Spec{Name: name, Task: task, DefaultPreset: preset,
		Summary: fmt.Sprintf("%s trains %s, or on the built-in sample.", name, what)}
}

// Runs are the names of the runs with presets.
func Runs() (names []string) {
	for _, s := range shipped {
		names = append(names, s.Name)
	}
	return names
}

// SpecOf describes the run of a folder under runs/; nil where the list above lacks it.
func SpecOf(name string) *Spec {
	i := slices.IndexFunc(shipped, func(s Spec) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	s := shipped[i]
	s.Stdout = command.Stdout
	var err error
	if s.FS, err = fs.Sub(runs.Presets, name); err != nil {
		panic(err)
	}
	return &s
}

// ownPreset is the preset that suits a user's corpus best. The bounds lie between the sizes in the presets' names.
func ownPreset(pairs int) string {
	switch {
	case pairs <= 60_000:
		return "10k"
	case pairs <= 1_000_000:
		return "200k"
	}
	return "5m"
}
