package align

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func fields(lines ...string) (out [][]string) {
	for _, line := range lines {
		out = append(out, strings.Fields(line))
	}
	return out
}

func TestLexicon(t *testing.T) {
	c := corpusOf(fields("a b c", "b a", "b d", "", "a"), fields("A B", "X A", "B D", "Z", "B"))
	var links [][]Link
	for _, line := range []string{"0-0 1-1", "0-0 1-1", "0-0 1-1", "", "0-0"} {
		parsed, err := Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, parsed)
	}
	l, err := LearnLexicon(c, links)
	if err != nil {
		t.Fatal(err)
	}
	// a: A twice and B once; b: B twice and X once; c has no link.
	const want = "a\tA\nb\tB\nd\tD\n"
	var b strings.Builder
	if err := l.Write(&b); err != nil || b.String() != want {
		t.Errorf("the lexicon is %q, %v", b.String(), err)
	}
	again, err := ReadLexicon(strings.NewReader(want), "lexicon")
	if err != nil || again.Len() != 3 {
		t.Fatal(again, err)
	}
	for word, want := range map[string]string{"a": "A", "b": "B", "c": "", "d": "D"} {
		for _, l := range []*Lexicon{l, again} {
			if got, known := l.Word(word); got != want || known != (want != "") {
				t.Errorf("%s is %q, %v", word, got, known)
			}
		}
	}
	if err := l.Write(broken{}); err == nil {
		t.Error("a lexicon that cannot be written is no error")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("full") }

// Of translations that are as frequent the first one is taken, however often it is tried.
func TestLexiconTies(t *testing.T) {
	for range 20 {
		var source, target [][]string
		var links [][]Link
		for i := range 50 {
			source, target = append(source, []string{fmt.Sprint(i % 10)}), append(target, []string{fmt.Sprint("t", i)})
			links = append(links, []Link{{0, 0}})
		}
		l, err := LearnLexicon(corpusOf(source, target), links)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			if got, _ := l.Word(fmt.Sprint(i)); got != fmt.Sprint("t", i) {
				t.Errorf("%d is %s", i, got)
			}
		}
	}
}

func TestLexiconRefuses(t *testing.T) {
	c := corpusOf(fields("a b", "c"), fields("A", "C D"))
	for _, bad := range [][][]Link{nil, {{}}, {{{0, 1}}, {}}, {{}, {{1, 0}}}} {
		if _, err := LearnLexicon(c, bad); err == nil {
			t.Errorf("links %v are taken", bad)
		}
	}
	if _, err := LearnLexicon(c, [][]Link{{}, {{1, 0}}}); err == nil ||
		!strings.HasPrefix(err.Error(), "line 2: link 1-0 points beyond 1 source and 2 target words") {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"a\tA\nb\n":       `lexicon:2: "b": a line is a word, a tab and its translation`,
		"a\tA\tB\n":       "lexicon:1: ",
		"\tA\n":           "lexicon:1: ",
		"a\t\n":           "lexicon:1: ",
		"a\tA\n\n":        "lexicon:2: ",
		"a\tA\na\tB\n":    `lexicon:2: "a" has a translation already`,
		"a\tA\n\xff\tB\n": "lexicon:2: byte 1",
	} {
		if _, err := ReadLexicon(strings.NewReader(text), "lexicon"); err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestParse(t *testing.T) {
	for line, want := range map[string]string{"": "", "0-0 12-3": "0-0 12-3", " 1-2  0-7\t": "1-2 0-7"} {
		if links, err := Parse(line); err != nil || Format(links) != want {
			t.Errorf("%q is %v, %v", line, links, err)
		}
	}
	for _, line := range []string{"1", "1-", "-1", "1-2-3", "a-1", "1-b", "1--2", "0-0 +1-2", "99999999999-1",
		"1-65536"} {
		if links, err := Parse(line); err == nil {
			t.Errorf("%q is %v", line, links)
		}
	}
}

// TestSavedByAnEditor: a byte order mark and "\r\n" ends are no part of words.
func TestSavedByAnEditor(t *testing.T) {
	lexicon, err := ReadLexicon(strings.NewReader("\ufeffa\tA\r\nb\tB\r\n"), "lexicon")
	if err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]string{"a": "A", "b": "B"} {
		if got, _ := lexicon.Word(word); got != want {
			t.Errorf("%s is %q", word, got)
		}
	}
	list, err := ReadShortlist(strings.NewReader("\ufeff\tA B\r\na\tC D\r\n"), "list")
	want := &Shortlist{Always: []string{"A", "B"}, Of: map[string][]string{"a": {"C", "D"}}}
	if diff := cmp.Diff(want, list); err != nil || diff != "" {
		t.Error(err, diff)
	}
}
