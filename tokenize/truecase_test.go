package tokenize

import (
	"strings"
	"testing"
	"time"
)

func train(t *testing.T, corpus string) *Truecaser {
	t.Helper()
	truecaser, err := TrainTruecaser(strings.NewReader(corpus), "corpus")
	if err != nil {
		t.Fatal(err)
	}
	return truecaser
}

func TestTruecaseModel(t *testing.T) {
	truecaser := train(t, "The dog and The cat .\n&quot; A dog saw Berlin . The dog saw BERLIN , The 3 dogs\nHe saw "+
		"dog , Dog and\n")
	var model strings.Builder
	if _, err := truecaser.WriteTo(&model); err != nil {
		t.Fatal(err)
	}
	// Equal counts: the form that is last in code point order is the best.
	const want = "and (2/2)\nBerlin (1/2) BERLIN (1)\ncat (1/1)\ndog (4/5) Dog (1)\ndogs (1/1)\nsaw (3/3)\nThe (2/2)\n"
	if model.String() != want {
		t.Errorf("got %q, want %q", model.String(), want)
	}
}

func TestTruecase(t *testing.T) {
	truecaser := train(t, "x the dog , the Dog and Peter\nx NATO the\n")
	for input, want := range map[string]string{
		"The Dog .":               "the Dog .",
		"&quot; The peter : NATO": "&quot; the Peter : NATO",
		"x THE Dog nato":          "x the Dog NATO",
		"The|DET dog|N":           "the|DET dog|N",
		"Unseen Words":            "Unseen Words",
		"":                        "",
		"  The   dog ":            "the dog",
		"a <b> The":               "a<b> the", // as Moses prints it
	} {
		if got := truecaser.Truecase(input); got != want {
			t.Errorf("%q: got %q, want %q", input, got, want)
		}
	}
}

func TestDetruecase(t *testing.T) {
	for input, want := range map[string]string{
		"the dog . &quot; it barks ! ärger": "The dog . &quot; It barks ! Ärger",
		"( ßa":                              "( SSa",
		"":                                  "",
	} {
		if got := Detruecase(input); got != want {
			t.Errorf("%q: got %q, want %q", input, got, want)
		}
	}
}

func TestReadTruecaserKeepsMosesWeights(t *testing.T) {
	const model = "Haus (2.1/3.1) haus (1)\n"
	truecaser, err := ReadTruecaser(strings.NewReader(model), "model")
	if err != nil {
		t.Fatal(err)
	}
	var written strings.Builder
	if _, err := truecaser.WriteTo(&written); err != nil || written.String() != model {
		t.Errorf("wrote %q, %v; want %q", written.String(), err, model)
	}
}

func TestReadTruecaserErrors(t *testing.T) {
	for model, part := range map[string]string{
		"the (1/1)\ndog\n":       "model:2:",
		"the (1/1)\n\n":          "model:2:",
		"the 1/1\n":              `model:1: "1/1" is not a count`,
		"the (x/1)\n":            "is not a count",
		"the (1/1)\nd\xFF (1)\n": "model:2: byte 2",
	} {
		if _, err := ReadTruecaser(strings.NewReader(model), "model"); err == nil ||
			!strings.Contains(err.Error(), part) {
			t.Errorf("%q gave the error %v; want one with %q", model, err, part)
		}
	}
	if _, err := TrainTruecaser(strings.NewReader("a\nb\xFF\n"), "corpus"); err == nil ||
		!strings.Contains(err.Error(), "corpus:2:") {
		t.Errorf("a corpus that is not UTF-8 gave the error %v", err)
	}
}

// TestTruecaseManyTags: time is that of the line, not its square.
func TestTruecaseManyTags(t *testing.T) {
	truecaser := train(t, "x the dog\n")
	for what, line := range map[string]string{
		"tags": strings.Repeat("<b>", 700_000), "factors": "a|" + strings.Repeat("<b>|", 500_000),
		"brackets": strings.Repeat("a <a ", 400_000),
	} {
		begin := time.Now()
		truecaser.Truecase(line)
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("2 MB of %s take %v", what, took)
		}
	}
}
