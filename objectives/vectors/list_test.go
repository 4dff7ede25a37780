package vectors

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadAll: text with and without a header and binary give the same vectors, as long as they are, repeated and
// special words too.
func TestReadAll(t *testing.T) {
	folder := t.TempDir()
	path := func(name, text string) string {
		p := filepath.Join(folder, name)
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return p
	}
	want := &List{Words: []string{"the", "<unk>", "the"}, Width: 2, Rows: []float32{3, 4, 0, 0, -1, 0.5}}
	lines := "the 3 4\n<unk> 0 0\nthe -1 0.5\n"
	binary := "3 2\nthe \x00\x00\x40\x40\x00\x00\x80\x40\n<unk> " + strings.Repeat("\x00", 8) +
		"\nthe \x00\x00\x80\xbf\x00\x00\x00\x3f\n"
	for _, p := range []string{path("a.vec", lines), path("b.vec", "3 2\n"+lines), path("c.bin", binary)} {
		got, err := ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", p, diff)
		}
	}
	for p, says := range map[string]string{
		path("ragged.vec", "the 1 2\ncat 1 2\ndog 1\n"): "ragged.vec:3: expected a word and 2 numbers",
		path("nan.vec", "the 1 2\ncat nan 2\n"):         "nan.vec:2: number 1 of \"cat\"",
		path("empty.vec", ""):                           "the file is empty",
		filepath.Join(folder, "nowhere.vec"):            "no such file",
	} {
		if _, err := ReadAll(p); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s gave %v", p, err)
		}
	}
}

// TestWrite: what Write writes ReadAll reads, number for number, with words that hold spaces.
func TestWrite(t *testing.T) {
	want := &List{Words: []string{"the", "New York", "ä"}, Width: 3,
		Rows: []float32{1.0 / 3, -0, 1e-30, 3.4028235e38, -2, 0.1, 5, 6, 7}}
	path := filepath.Join(t.TempDir(), "w.vec")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	want.Write(w)
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
	got, err := ReadAll(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestSpacesAndTabs: where the width is known a word holds spaces, whichever of spaces and tabs stand behind it and
// between its numbers, whatever the word itself holds.
func TestSpacesAndTabs(t *testing.T) {
	want := &List{Words: []string{"the", "New York", "New York City"}, Width: 3,
		Rows: []float32{1, 2, 3, 4, 5, 6, 7, 8, 9}}
	for _, behind := range []string{" ", "\t"} {
		for _, between := range []string{" ", "\t"} {
			text := "3 3\n"
			for i, word := range want.Words {
				n := 3 * i
				text += fmt.Sprint(word, behind, n+1, between, n+2, between, n+3, "\n")
			}
			path := filepath.Join(t.TempDir(), "x.vec")
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			got, err := ReadAll(path)
			if err != nil {
				t.Errorf("%q: %v", text, err)
				continue
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", text, diff)
			}
		}
	}
}
