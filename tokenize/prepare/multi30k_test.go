package prepare

import (
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/aperture-ml/aperture/internal/testdata"
)

// packed packs a text with gzip.
func packed(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func put(t testing.TB, folder, name, content string) {
	t.Helper()
	path := filepath.Join(folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, folder, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// mustRun prepares a corpus of a folder into a new one.
func mustRun(t testing.TB, corpus, from string, settings map[string]string) (counts *Counts, to string) {
	t.Helper()
	to = filepath.Join(t.TempDir(), "to")
	counts, err := Run(context.Background(), Options{Corpus: corpus, From: from, To: to, Settings: settings})
	if err != nil {
		t.Fatalf("%s: %v", corpus, err)
	}
	return counts, to
}

// The true files, packed, come out as they are, and all published figures hold.
func TestTrueMulti30k(t *testing.T) {
	from := t.TempDir()
	for _, set := range []string{"train", "val", "test_2016_flickr"} {
		for _, language := range []string{"en", "de"} {
			name := set + "." + language
			data, err := os.ReadFile(testdata.Path(t, "multi30k/"+name))
			if err != nil {
				t.Fatal(err)
			}
			put(t, from, "data/task1/raw/"+name+".gz", packed(t, string(data)))
			put(t, from, "data/task1/tok/"+name+".gz", "of no use")
		}
	}
	counts, to := mustRun(t, "multi30k", from, nil)
	files := 0
	for _, text := range counts.Texts {
		for _, f := range text.Files {
			files++
			if f.Published == nil || f.Published.Tokens == 0 || len(f.Differs) > 0 {
				t.Errorf("%s: %+v, published %+v", f.Name, f, f.Published)
			}
			want, err := os.ReadFile(testdata.Path(t, "multi30k/"+f.Name))
			if err != nil || read(t, to, f.Name) != string(want) {
				t.Errorf("%s is not the published file (%v)", f.Name, err)
			}
		}
	}
	if files != 6 {
		t.Errorf("%d files", files)
	}
}

// The true Penn Treebank in an archive.
func TestTruePTB(t *testing.T) {
	from := t.TempDir()
	members := map[string]string{"simple-examples/data/README": "no text"}
	for _, set := range []string{"train", "valid", "test"} {
		data, err := os.ReadFile(testdata.Path(t, "ptb/ptb."+set+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		members["./simple-examples/data/ptb."+set+".txt"] = string(data)
	}
	put(t, from, "simple-examples.tgz", packed(t, tarOf(t, members)))
	counts, to := mustRun(t, "ptb", from, nil)
	for _, text := range counts.Texts {
		f := text.Files[0]
		if f.Published == nil || f.Published.Tokens == 0 || len(f.Differs) > 0 || read(t, to, f.Name) != members["./simple-examples/data/"+f.Name] {
			t.Errorf("%+v", f)
		}
	}
}
