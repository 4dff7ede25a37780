package tokenize

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/internal/files"
)

func readLines(r io.Reader) (texts []string, terminated bool, err error) {
	lines := NewLines(r, "text")
	for lines.Next() {
		texts = append(texts, lines.Text())
		terminated = lines.Terminated()
		if lines.Number() != len(texts) {
			return nil, false, errors.New("lines are counted wrongly")
		}
	}
	return texts, terminated, lines.Err()
}

func TestLinesEndAtNewlinesOnly(t *testing.T) {
	long := strings.Repeat("ü", 100_000)
	for _, c := range []struct {
		text       string
		want       []string
		terminated bool
	}{
		{"", nil, false},
		{"\n", []string{""}, true},
		{"a\n\nb", []string{"a", "", "b"}, false},
		{"a\rb\r\n\u2028c\u0085\v\f\x1c\n", []string{"a\rb\r", "\u2028c\u0085\v\f\x1c"}, true},
		{long + "\n" + long, []string{long, long}, false},
	} {
		for _, r := range []io.Reader{strings.NewReader(c.text), iotest.HalfReader(strings.NewReader(c.text)),
			iotest.DataErrReader(strings.NewReader(c.text))} {
			got, terminated, err := readLines(r)
			if err != nil || terminated != c.terminated || !cmp.Equal(c.want, got) {
				t.Errorf("%.40q: %d lines, terminated %v, error %v", c.text, len(got), terminated, err)
			}
		}
	}
}

func TestLinesRefuseOtherEncodings(t *testing.T) {
	for text, at := range map[string]string{
		"gut\ngr\xfcn\n":       "text:2: byte 3 of the line (0xFC)",
		"\ufffd ok\xe4":        "text:1: byte 7 of the line (0xE4)",
		"\xff\xfea\x00":        "text:1: byte 1 of the line (0xFF)",
		"a\xed\xa0\x80 half":   "text:1: byte 2 of the line (0xED)",
		"ok\nok\nok\n\xc3\nok": "text:4: byte 1 of the line (0xC3)",
	} {
		_, _, err := readLines(strings.NewReader(text))
		if err == nil || !strings.HasPrefix(err.Error(), at+" is not valid UTF-8; convert") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestLinesReportReadErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	_, _, err := readLines(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "text: ") {
		t.Errorf("error %v", err)
	}
}

func TestLongLinesAreRefused(t *testing.T) {
	long := strings.Repeat("x", files.MaxLine)
	if texts, _, err := readLines(strings.NewReader("a\n" + long + "\n")); err != nil || len(texts) != 2 {
		t.Errorf("%d lines, %v", len(texts), err)
	}
	_, _, err := readLines(strings.NewReader("a\n" + long + "x\n"))
	if err == nil || err.Error() != "text:2: this line has more than 1000000 bytes: break it up, a sentence a line" {
		t.Error(err)
	}
	if _, err := ReadVocabulary(strings.NewReader("a 1\n"+long+"x 1\n"), "words"); err != nil {
		t.Error(err)
	}
	_, err = ReadVocabulary(strings.NewReader("a 1\n"+strings.Repeat("x", files.MaxRow)+" 1\n"), "words")
	if err == nil ||
		!strings.Contains(err.Error(), "words:2: this line has more than 16000000 bytes: no table of words has such a "+
			"row") {
		t.Error(err)
	}
	// Of a line that is answered by itself comes what shows its length, and the lines behind it follow.
	lines := NewLines(strings.NewReader("long\nnext\n"), "text").Unchecked().AtMost(3)
	if !lines.Next() || lines.Text() != "long" || !lines.Next() || lines.Text() != "next" || lines.Number() != 2 ||
		lines.Next() {
		t.Errorf("%q, %v", lines.Text(), lines.Err())
	}
}
