package align

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShortlist(t *testing.T) {
	c := corpusOf(fields("a b c", "b a", "b d", "", "a"), fields("A B", "X A", "B D", "Z", "B"))
	var links [][]Link
	for _, line := range []string{"0-0 1-1", "0-0 1-1", "0-0 1-1", "", "0-0"} {
		parsed, err := Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, parsed)
	}
	// a: A twice and B once; b: B twice and X once; c has no link. Of the target words B occurs most often, then A.
	for _, want := range []struct {
		always, best int
		text         string
	}{
		{2, 5, "\tB A\na\tA B\nb\tB X\nd\tD\n"},
		{0, 1, "\t\na\tA\nb\tB\nd\tD\n"},
		{9, 1, "\tB A X D Z\na\tA\nb\tB\nd\tD\n"},
	} {
		l, err := LearnShortlist(c, links, want.always, want.best)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := l.Write(&b); err != nil || b.String() != want.text {
			t.Errorf("%d and %d give %q, %v, want %q", want.always, want.best, b.String(), err, want.text)
		}
		again, err := ReadShortlist(strings.NewReader(want.text), "list")
		if diff := cmp.Diff(l, again); err != nil || diff != "" {
			t.Errorf("%v, -written +read:\n%s", err, diff)
		}
		if err := l.Write(broken{}); err == nil {
			t.Error("a list that cannot be written is no error")
		}
	}
	if _, err := LearnShortlist(c, nil, 1, 1); err == nil {
		t.Error("no links are taken for five pairs")
	}
}

func TestShortlistRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                  "list is empty",
		"a\tA\n":            `list:1: "a\tA": the first line, and no other, has no source word`,
		"\tA\nb\n":          `list:2: "b": a line is a word, a tab, and target words`,
		"\tA\nb\tB\tC\n":    "list:2: ",
		"\tA\n\tB\n":        "list:2: ",
		"\tA\nb\tB\nb\tC\n": `list:3: "b" has a line already`,
		"\tA\n\n":           "list:2: ",
		"\tA\nb\t\xff\n":    "list:2: byte 3",
	} {
		if _, err := ReadShortlist(strings.NewReader(text), "list"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
