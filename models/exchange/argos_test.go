package exchange

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// TestArgos: the archive has one folder with what Argos Translate looks for, and is the same each time.
func TestArgos(t *testing.T) {
	var packages [2]bytes.Buffer
	for i := range packages {
		if err := WriteArgos(&packages[i], t.TempDir(), fixture("all", false, false), Options{Quantise: Int8}); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(packages[0].Bytes(), packages[1].Bytes()) {
		t.Error("two packages of one model differ")
	}
	r, err := zip.NewReader(bytes.NewReader(packages[0].Bytes()), int64(packages[0].Len()))
	if err != nil {
		t.Fatal(err)
	}
	content := map[string][]byte{}
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		name, inside := strings.CutPrefix(f.Name, "translate-en_de-1_0/")
		if content[name], err = io.ReadAll(in); err != nil || !inside {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
	for _, name := range []string{"model/model.bin", "model/config.json", "model/shared_vocabulary.json", "README.md"} {
		if len(content[name]) == 0 {
			t.Errorf("there is no %s", name)
		}
	}
	if !bytes.Equal(content["bpe.model"], fixture("all", false, false).Codes) {
		t.Errorf("the codes are %q", content["bpe.model"])
	}
	var metadata map[string]any
	if err := json.Unmarshal(content["metadata.json"], &metadata); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"from_code": "en", "from_name": "English", "to_code": "de",
		"to_name": "German"} {
		if metadata[key] != want {
			t.Errorf("%s is %v", key, metadata[key])
		}
	}
	for code, want := range map[string]string{"pt-BR": "Brazilian Portuguese", "?": "?", "de": "German"} {
		if got := LanguageName(code); got != want {
			t.Errorf("%s is called %q", code, got)
		}
	}
}

// TestTextPaths: each key that a format's text path lacks is refused by name, with what would do.
func TestTextPaths(t *testing.T) {
	type change func(m *Model)
	shared := map[string]change{
		"data.truecase = true: train with data.truecase = " +
			"false": func(m *Model) { m.Text.Truecase = true },
		"data.opus_mt = true: train with data.opus_mt = " +
			"false": func(m *Model) { m.Text.OPUS = true },
		"data.normalize = false: train with data.normalize = " +
			"true": func(m *Model) { m.Text.Normalize = false },
		`data.tokenize = "none": train with data.tokenize = "2017"`: func(
			m *Model) {
			m.Text.Tokenize = "none"
		},
		"data.escape = false: train with data.escape = " +
			"true": func(m *Model) { m.Text.Escape = false },
		`data.source_units = "word": train with data.source_units = "bpe"`: func(
			m *Model) {
			m.Text.SourceUnits = "word"
		},
		"data.merges = 0: train with data.merges = 4000": func(m *Model) { m.Codes = nil },
		"data.vocabulary_threshold = 5: train with data.vocabulary_threshold = " +
			"0": func(m *Model) { m.Text.VocabularyThreshold = 5 },
	}
	refused := func(says string, err error) {
		t.Helper()
		var r *Refusal
		if !errors.As(err, &r) || !r.Text || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; it should say %s", err, says)
		}
	}
	argos := func(c change) error {
		m := fixture("all", false, false)
		c(m)
		return WriteArgos(io.Discard, t.TempDir(), m, Options{})
	}
	face := func(c change) error {
		m := fixture("all", false, false)
		m.Text.Aggressive = true
		c(m)
		return WriteHuggingFace(t.TempDir(), m, Options{})
	}
	for says, c := range shared {
		refused("Argos Translate", argos(c))
		refused(says, argos(c))
		refused(says, face(c))
	}
	refused("Argos Translate lower-cases nothing, and this run has data.lowercase = true",
		argos(func(m *Model) { m.Text.Lowercase = true }))
	refused("splits no words at hyphens, and this run has data.aggressive = true: train with data.aggressive = false",
		argos(func(m *Model) { m.Text.Aggressive = true }))
	refused("splits words at hyphens, and this run has data.aggressive = false: train with data.aggressive = true",
		face(func(m *Model) { m.Text.Aggressive = false }))
	refused("byte-pair codes of version 0.2", face(func(m *Model) { m.Codes = []byte("a b\n") }))
	refused(`spells the pieces "a</w>@@" and "a" alike`,
		face(func(m *Model) {
			m.Target = slices.Clone(m.Target)
			m.Target[4], m.Target[5] = "a</w>@@", "a"
		}))
	if err := face(func(m *Model) { m.Text.Lowercase = true }); err != nil {
		t.Errorf("lower-case: %v", err)
	}
}
