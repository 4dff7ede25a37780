package train

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/runs/internal/record"
)

// vectorFile writes vectors of some of the corpus' words, of one that it does not hold, and of </s>.
func vectorFile(t *testing.T, folder string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("12 3\n")
	for i, word := range strings.Fields("DER ALTE HUND SCHLÄFT UNTER DEM TISCH UND TRÄUMT KATZE </s> FALLEN") {
		fmt.Fprintf(&b, "%s %d %d %d\n", word, i%3, 1+i%2, i-5)
	}
	write(t, filepath.Join(folder, "words.vec"), b.String())
}

// A run with vectors from a file says so, keeps them, and needs the file no more.
func TestVectorsOfAFile(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	vectorFile(t, folder)
	first := mustRun(t, folder, "-method=vmf", "-vectors=words.vec", "-out=out", "-steps=6")
	for _, part := range []string{"vmf predicts whole words: data.target_units",
		"read from words.vec, where 1 words are not of the training text",
		"a vector for the end of a sentence, near "} {
		if !strings.Contains(first.stderr, part) {
			t.Errorf("the run does not say %q:\n%s", part, first.stderr)
		}
	}
	if err := os.Remove(filepath.Join(folder, "words.vec")); err != nil {
		t.Fatal(err)
	}
	mustRun(t, folder, "-out=out", "-steps=8", "-resume")
	found, err := record.Read(filepath.Join(folder, "out"))
	if err != nil {
		t.Fatal(err)
	}
	if v := found.Vectors; v == nil || v.Source != "words.vec" || len(v.SHA256) != 64 || v.Width != 3 ||
		v.Words != 4+10 || v.Unused != 1 || v.End != "the file" {
		t.Errorf("results.json says of vectors %+v", v)
	}
	if sum := found.Files["objective.vectors"]; len(found.Files) != 1 || sum != string(found.Vectors.SHA256) {
		t.Errorf("results.json says of files %v", found.Files)
	}
	all := results(t, folder, "out")
	if valid := all["valid"].(map[string]any); valid["ppl"] != nil || valid["nll"] == nil {
		t.Errorf("the validation's scores are %v, want a density without a perplexity", valid)
	}
	if metrics := read(t, folder, "out", "metrics.jsonl"); strings.Count(metrics, `"ppl":`) != strings.Count(metrics, `"ppl":null`) {
		t.Error("metrics.jsonl has a perplexity of vectors")
	}
	kept := filepath.Join(folder, "out", "tokenizer", "vectors.de.safetensors")
	if err := os.Remove(kept); err != nil {
		t.Fatal(err)
	}
	run(t, folder, "-out=out", "-steps=9", "-resume").fails(t, "vectors that are gone", 1, "target vectors",
		"vectors.de.safetensors")
}

// Every method that aims at vectors trains, scores and says what it cannot say.
func TestContinuousMethods(t *testing.T) {
	for _, method := range []string{"l2", "cosine", "maxmargin", "powerspherical"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			folder := workplace(t)
			mustRun(t, folder, "-method="+method, "-out=out", "-steps=4", "-set=objective.vectors_width=9",
				"-set=decode.beam=1")
			found, err := record.Read(filepath.Join(folder, "out"))
			if err != nil {
				t.Fatal(err)
			}
			if v := found.Vectors; v == nil || v.Source != "the training text" || v.SHA256 != "" || v.Width != 9 ||
				v.End != "a constant" {
				t.Errorf("results.json says of vectors %+v", v)
			}
			test := results(t, folder, "out")["test"].(map[string]any)["test"].(map[string]any)
			if density := method == "powerspherical"; test["ppl"] != nil || (test["nll"] != nil) != density ||
				test["bleu"] == nil {
				t.Errorf("the scores are %v", test)
			}
		})
	}
}

func TestVectorsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	write(t, filepath.Join(folder, "bad.vec"), "DER 1 2\nALTE 1 x\n")
	run(t, folder, "-method=vmf", "-vectors=bad.vec").fails(t, "a number that is none", 1,
		`bad.vec:2: number 2 of "ALTE" is "x"`)
	run(t, folder, "-method=vmf", "-vectors=none.vec").fails(t, "no file", 1, "-vectors", "none.vec",
		"there is no file")
	run(t, folder, "-method=vmf", "-set=data.target_units=bpe").fails(t, "units", 2,
		`vmf predicts whole words: it wants data.target_units = "word"`)
	run(t, folder, "-method=vmf+spectrum").fails(t, "two matrices", 2, "vmf and spectrum do not join")
	run(t, folder, "-method=vmf+adversarial").fails(t, "no softmax", 2, "vmf has no softmax")
}
