package prepare

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

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

// filesOf returns the counts of a corpus' files by name.
func filesOf(c *Counts) map[string]File {
	out := map[string]File{}
	for _, text := range c.Texts {
		for _, f := range text.Files {
			out[f.Name] = f
		}
	}
	return out
}

// The true files, packed, come out as they are, and all published figures hold.
func TestTrueMulti30k(t *testing.T) {
	from := t.TempDir()
	for _, set := range []string{"train", "val", "test_2016_flickr"} {
		for _, language := range []string{"en", "de"} {
			name := set + "." + language
			data, err := os.ReadFile(fixtures.Path(t, "multi30k/"+name))
			if err != nil {
				t.Fatal(err)
			}
			fixtures.Put(t, from, "data/task1/raw/"+name+".gz", fixtures.Gzip(t, string(data)))
			fixtures.Put(t, from, "data/task1/tok/"+name+".gz", "of no use")
		}
	}
	counts, to := mustRun(t, "multi30k", from, nil)
	if len(filesOf(counts)) != 6 {
		t.Errorf("%d files", len(filesOf(counts)))
	}
	for name, f := range filesOf(counts) {
		if f.Published == nil || f.Published.Tokens == 0 || len(f.Differs) > 0 {
			t.Errorf("%s: %+v, published %+v", name, f, f.Published)
		}
		want, err := os.ReadFile(fixtures.Path(t, "multi30k/"+name))
		if err != nil || fixtures.Read(t, to, name) != string(want) {
			t.Errorf("%s is not the published file (%v)", name, err)
		}
	}
}

// The true Penn Treebank, in an archive and as plain files.
func TestTruePTB(t *testing.T) {
	packed, plain, members := t.TempDir(), t.TempDir(), map[string]string{"simple-examples/data/README": "no text"}
	for _, set := range []string{"train", "valid", "test"} {
		data, err := os.ReadFile(fixtures.Path(t, "ptb/ptb."+set+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		members["./simple-examples/data/ptb."+set+".txt"] = string(data)
		fixtures.Put(t, plain, "ptb."+set+".txt", string(data))
	}
	fixtures.Put(t, packed, "simple-examples.tgz", fixtures.Gzip(t, fixtures.Tar(t, members)))
	for _, from := range []string{packed, plain} {
		counts, to := mustRun(t, "ptb", from, nil)
		for name, f := range filesOf(counts) {
			if f.Published == nil || f.Published.Tokens == 0 || len(f.Differs) > 0 ||
				fixtures.Read(t, to, name) != members["./simple-examples/data/"+name] {
				t.Errorf("%+v", f)
			}
		}
	}
}
