package train

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A run whose target words are few translates the others by its lexicon, in test scores and in translations, and is
// resumed with it.
func TestLexiconOfARun(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	words := []string{"-set=data.target_units=word", "-set=data.min_count=75", "-set=train.validate_every=8"}
	with := func(more ...string) []string {
		return slices.Concat(words, []string{"-set=data.lexicon=true", "-set=decode.replace_unk=true"}, more)
	}
	output := func(out string) string { return read(t, folder, out, "samples", "test.de") }

	train(t, folder, append(slices.Clip(words), "-out=plain", "-steps=16")...)
	if !strings.Contains(output("plain"), "<unk>") {
		t.Fatalf("no word is unknown:\n%s", output("plain"))
	}
	train(t, folder, with("-out=parts", "-steps=8")...)
	train(t, folder, with("-out=whole", "-steps=16")...)
	if text := output("whole"); strings.Contains(text, "<unk>") || strings.ToUpper(text) != text {
		t.Errorf("unknown words are not translated:\n%s", text)
	}
	if kept := read(t, folder, "whole", "tokenizer", "lexicon.en-de"); !strings.Contains(kept, "\nhund\tHUND\n") {
		t.Errorf("the lexicon is\n%s", kept)
	}
	if all := results(t, folder, "whole"); all["postprocess"] != nil {
		t.Errorf("results.json has postprocess = %v", all["postprocess"])
	}
	train(t, folder, with("-out=parts", "-steps=16", "-resume")...)
	same(t, folder, "whole", "parts")

	train(t, folder, with("-out=parts", "-steps=17", "-resume", "-set=decode.postprocess=paper")...)
	if all := results(t, folder, "parts"); all["postprocess"] != "paper" {
		t.Errorf("results.json has postprocess = %v", all["postprocess"])
	}
	for _, line := range strings.Split(output("parts"), "\n") {
		words := strings.Fields(line)
		for i := range words {
			if i > 0 && words[i] == words[i-1] {
				t.Errorf("%q repeats a word", line)
			}
		}
	}
	if err := os.Remove(filepath.Join(folder, "parts", "tokenizer", "lexicon.en-de")); err != nil {
		t.Fatal(err)
	}
	run(t, folder, with("-out=parts", "-steps=18", "-resume")...).fails(t, "a lexicon that is gone", 1, "lexicon.en-de",
		"the run folder")
}
