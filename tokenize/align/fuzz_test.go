package align

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// FuzzLexicon: a lexicon that can be read is written and read as it was.
func FuzzLexicon(f *testing.F) {
	for _, text := range []string{"cat\tKatze\ndog\tHund\n", "", "cat Katze\n", "a\tb\tc\n", "a\tb\na\tc\n", "\tb\n",
		"a\xff\tb\n", "a\x1b[2J\tb\x00\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if edited(data) {
			return
		}
		var l *Lexicon
		if fixtures.Promise(t, len(data), func() (err error) {
			l, err = ReadLexicon(bytes.NewReader(data), "lexicon")
			return err
		}) != nil {
			return
		}
		var first, second bytes.Buffer
		if err := l.Write(&first); err != nil {
			t.Fatal(err)
		}
		again, err := ReadLexicon(bytes.NewReader(first.Bytes()), "again")
		if err != nil || again.Len() != l.Len() {
			t.Fatalf("%q was written, and read as %v, %v", first.String(), again, err)
		}
		if again.Write(&second); !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%q is read and written as %q", first.String(), second.String())
		}
	})
}

// FuzzShortlist: a short list that can be read is written and read as it was.
func FuzzShortlist(f *testing.F) {
	for _, text := range []string{"\tder die\ncat\tKatze Kater\ndog\t\n", "", "\t\n", "\ta\n\tb\n", "\ta\nb\n", "\ta  b\n",
		"\ta\nb\tc\nb\td\n", "\t\xff\n", "\ta\x1b[2J\nb \t\x00\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if edited(data) {
			return
		}
		var l, again *Shortlist
		if fixtures.Promise(t, len(data), func() (err error) {
			l, err = ReadShortlist(bytes.NewReader(data), "list")
			return err
		}) != nil {
			return
		}
		var b bytes.Buffer
		err := l.Write(&b)
		if err == nil {
			again, err = ReadShortlist(&b, "again")
		}
		if diff := cmp.Diff(l, again, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%v, -read +read again:\n%s", err, diff)
		}
	})
}

// FuzzParse: links that can be read come back from their text.
func FuzzParse(f *testing.F) {
	for _, line := range []string{"0-0 1-2", "", "-", "1-", "-1-2", "65535-0", "65536-0", "1-2-3", "+1-2", "٣-٤", "1-2\x00",
		"99999999999999999999-1"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		var links []Link
		if fixtures.Promise(t, len(line), func() (err error) { links, err = Parse(line); return err }) != nil {
			return
		}
		if again, err := Parse(Format(links)); err != nil || !slices.Equal(links, again) {
			t.Errorf("%v comes back as %v, %v", links, again, err)
		}
	})
}

// edited reports what readers drop from a file that an editor has saved, so that it does not come back.
func edited(data []byte) bool { return bytes.ContainsAny(data, "\ufeff\r") }
