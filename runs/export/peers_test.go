package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/runs/internal/sample"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// peerCase is a line as testdata/peers.py reads it.
type peerCase struct {
	Line         string      `json:"line"`
	Pieces       []string    `json:"pieces"`
	Source       []int32     `json:"source"`
	Target       []int32     `json:"target"`
	TargetPieces []string    `json:"target_pieces"`
	LogProbs     [][]float64 `json:"logprobs"`

	translation string
}

// answers are those of testdata/peers.py.
type answers struct {
	Class               string
	Missing, Unexpected []string
	Worst               float64
	Pieces              [][]string
	Chosen              []string
	IDs, Sources        [][]int32
	Lines               []string
}

const peerLines = 20

// cases are lines of the sample with what the run makes of them: log-probabilities of the whole vocabulary behind each
// piece of a reference, and its own translation.
func cases(t *testing.T, folder string, beam int, lenpen float64) (all []peerCase) {
	t.Helper()
	tr, err := translation.Open(folder, translation.Options{Device: "cpu", Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	_, _, test := sample.Translation(1, 400, 10, peerLines)
	lines := test.Source
	o := tr.Settings.Decode
	o.Beam, o.Lenpen = beam, lenpen
	found, err := tr.Translate(context.Background(), lines, o)
	if err != nil {
		t.Fatal(err)
	}
	err = tr.Queue(context.Background(), func() error {
		return torch.Try(func() error {
			torch.ScopedNoGrad(func() {
				for i, line := range lines {
					side := tr.Text.Source
					c := peerCase{Line: line, Pieces: side.Units(side.Tokenize(line)), Source: side.Encode(line),
						Target: tr.Text.Target.Encode(lines[(i+1)%len(lines)]), translation: found[i].Text}
					c.TargetPieces = tr.Text.Target.Vocabulary.Decode(c.Target)
					states := tr.Network.Forward(row(append(slices.Clone(c.Source), tokenize.EOS)),
						row(append([]int32{tokenize.EOS}, c.Target...)), nil)
					scores := tr.Output.LogProbs(states.Hidden)
					flat, width := scores.Float64s(), int(scores.Size(1))
					for chunk := range slices.Chunk(flat, width) {
						c.LogProbs = append(c.LogProbs, chunk)
					}
					all = append(all, c)
				}
			})
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func row(ids []int32) models.Tokens {
	r := models.Tokens{Rows: 1, Width: len(ids)}
	for _, id := range ids {
		r.IDs = append(r.IDs, int64(id))
	}
	return r
}

// ask has the peer answer for the cases, or skips the test where its packages are missing.
func ask(t *testing.T, peer, path string, c []peerCase, packages ...string) (a answers) {
	t.Helper()
	fixtures.AskPeer(t, packages, &a, peer, path, c)
	return a
}

// same counts the cases whose translation is the peer's.
func same(t *testing.T, what string, c []peerCase, got []string, least int) {
	t.Helper()
	count := 0
	for i := range c {
		if i < len(got) && c[i].translation == got[i] {
			count++
		}
	}
	if count < least {
		t.Errorf("%s: %d of %d translations are the same", what, count, len(c))
	}
}

// TestCTranslate2: the network computes the same there, whatever its form and method, and finds the same translations.
func TestCTranslate2(t *testing.T) {
	fixtures.Python(t, "ctranslate2")
	for name, keys := range map[string][]string{
		"post-norm":             nil,
		"pre-norm, spectrum":    {"model.pre_norm=true", "objective.method=spectrum"},
		"learned positions, sn": {"model.positions=learned", "objective.method=sn"},
		"nothing tied, bias":    {"model.tying=none", "objective.bias=true", "data.joint=false"},
		"own source":            {"model.tying=decoder", "data.joint=false"},
		"of words, truecase, forced": {"data.joint=false", "model.tying=decoder", "data.source_units=word",
			"data.target_units=word", "data.truecase=true"},
	} {
		t.Run(name, func(t *testing.T) {
			folder, out := trained(t, "multi30k", keys...), filepath.Join(t.TempDir(), "out")
			args := []string{"-run", folder, "-to=ctranslate2", "-out", out}
			if strings.Contains(name, "forced") {
				args = append(args, "-force-tokens")
			}
			if _, err := export(t, args...); err != nil {
				t.Fatal(err)
			}
			c := cases(t, folder, 5, 1)
			a := ask(t, "ctranslate2", out, c, "ctranslate2")
			if a.Worst > 1e-4 {
				t.Errorf("log-probabilities differ by %g", a.Worst)
			}
			if slices.Contains(a.Chosen, "<pad>") || slices.Contains(a.Chosen, "<s>") || len(a.Chosen) < 5 {
				t.Errorf("chosen are %q", a.Chosen)
			}
		})
	}
}

// TestTransformers: each class computes the same scores, and FSMT's tokenizer gives the same pieces and text.
func TestTransformers(t *testing.T) {
	fixtures.Python(t, "transformers", "torch", "sacremoses")
	for class, keys := range map[string][]string{
		"FSMTForConditionalGeneration":   {"model.tying=decoder", "data.joint=false"},
		"FSMTForConditionalGeneration ":  nil,
		"M2M100ForConditionalGeneration": {"model.pre_norm=true"},
		"MarianMTModel":                  {"objective.bias=true"},
		"MarianMTModel with separate rows": {"objective.bias=true", "model.tying=none", "data.joint=false",
			"model.positions=learned"},
	} {
		t.Run(class, func(t *testing.T) {
			folder, out := trained(t, "multi30k", append(keys, "data.aggressive=true")...),
				filepath.Join(t.TempDir(), "out")
			if _, err := export(t, "-run", folder, "-to=hf", "-out", out); err != nil {
				t.Fatal(err)
			}
			c := cases(t, folder, 5, 1)
			a := ask(t, "hf", out, c, "transformers")
			if len(a.Missing)+len(a.Unexpected) > 0 || !strings.HasPrefix(class, a.Class) {
				t.Errorf("%s: missing %v, unexpected %v", a.Class, a.Missing, a.Unexpected)
			}
			if a.Worst > 1e-4 {
				t.Errorf("log-probabilities differ by %g", a.Worst)
			}
			for i := range c {
				if want := append(slices.Clone(c[i].Source), tokenize.EOS); !slices.Equal(a.Sources[i], want) {
					t.Errorf("%q has the pieces %v, and not %v", c[i].Line, a.Sources[i], want)
				}
			}
			same(t, class, c, a.Lines, peerLines-2)
		})
	}
}

// TestArgos: Argos Translate installs the package and translates, with its own settings, nearly as the run does.
func TestArgos(t *testing.T) {
	fixtures.Python(t, "argostranslate", "ctranslate2", "sacremoses")
	folder, out := trained(t, "multi30k"), filepath.Join(t.TempDir(), "en_de.argosmodel")
	if _, err := export(t, "-run", folder, "-to=argos", "-quantise=float16", "-out", out); err != nil {
		t.Fatal(err)
	}
	c := cases(t, folder, 4, 0.2)
	same(t, "argos", c, ask(t, "argos", out, c).Lines, peerLines*3/4)
}
