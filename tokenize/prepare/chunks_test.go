package prepare

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// TestChunksByBytes: sides whose lines differ much in length, and so come in chunks of other sizes, stay parallel, and
// the count of lines in an error is right.
func TestChunksByBytes(t *testing.T) {
	side := func(word string, lines, size int) string {
		var b strings.Builder
		for i := range lines {
			fmt.Fprintf(&b, "%s %d %s\n", word, i, strings.Repeat("x", size*(1+i%3)))
		}
		return b.String()
	}
	const lines = 2500
	long, short := side("one", lines, 3000), side("eins", lines, 1)
	folder := t.TempDir()
	for _, name := range []string{"train", "val", "test_2016_flickr"} {
		fixtures.Put(t, folder, name+".en", long)
		fixtures.Put(t, folder, name+".de", short)
	}
	to := filepath.Join(t.TempDir(), "to")
	if _, err := Run(context.Background(), Options{Corpus: "multi30k", From: folder, To: to}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"train.en": long, "train.de": short} {
		if fixtures.Read(t, to, name) != want {
			t.Errorf("%s is not the text that it was made of", name)
		}
	}
	for _, c := range []struct {
		side, text string
		ends       string
	}{
		{"de", side("eins", 2000, 1), "train.de ends after 2000 lines of text and "},
		{"de", side("eins", 2501, 1), "train.en ends after 2500 lines of text and "},
		{"en", side("one", 2499, 3000), "train.en ends after 2499 lines of text and "},
	} {
		from := t.TempDir()
		for _, name := range []string{"train", "val", "test_2016_flickr"} {
			fixtures.Put(t, from, name+".en", long)
			fixtures.Put(t, from, name+".de", short)
		}
		fixtures.Put(t, from, "train."+c.side, c.text)
		if _, sentence := mustFail(t, "multi30k", from, nil); !strings.Contains(sentence, c.ends) {
			t.Errorf("the error is %q, want %q", sentence, c.ends)
		}
	}
}
