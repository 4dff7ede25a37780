package tokenize

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func written(t *testing.T, v *Vocabulary) string {
	t.Helper()
	var out strings.Builder
	if err := v.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestVocabularyOrder(t *testing.T) {
	v := NewVocabulary(map[string]int{"b": 2, "a": 2, "ä": 2, "B": 2, "😀": 2, "\uffed": 2, "c": 7, "<unk>": 9,
		"rare": 1}, VocabularyOptions{})
	want := []string{"<s>", "<pad>", "</s>", "<unk>", "c", "B", "a", "b", "ä", "\uffed", "😀", "rare",
		"madeupword0000", "madeupword0001", "madeupword0002", "madeupword0003"}
	ids := make([]int32, v.Len())
	for i := range ids {
		ids[i] = int32(i)
	}
	if diff := cmp.Diff(want, v.Decode(ids)); diff != "" {
		t.Error(diff)
	}
	ids[Pad] = Unk // a text has no padding
	if diff := cmp.Diff(ids, v.Encode(want)); diff != "" {
		t.Error(diff)
	}
	if v.ID("<s>") != BOS || v.ID("<pad>") != Pad || v.ID("</s>") != EOS || v.ID("<unk>") != Unk ||
		v.ID("never") != Unk {
		t.Error("special ids")
	}
	if v.Count(4) != 7 || v.Count(Unk) != 9 || v.Count(12) != 0 || v.Count(-1) != 0 || v.Count(99) != 0 {
		t.Error("counts")
	}
	if v.Token(-1) != "<unk>" || v.Token(16) != "<unk>" {
		t.Error("tokens of numbers that are no ids")
	}
	if got, want := written(t, v), "c 7\nB 2\na 2\nb 2\nä 2\n\uffed 2\n😀 2\nrare 1\nmadeupword0000 0\nmadeupword0001 "+
		"0\nmadeupword0002 0\nmadeupword0003 0\n"; got != want {
		t.Errorf("written %q", got)
	}
}

func TestVocabularyOptions(t *testing.T) {
	counts := map[string]int{"a": 5, "b": 4, "c": 3, "d": 2, "madeupword0001": 1}
	for _, c := range []struct {
		opts VocabularyOptions
		want string
	}{
		{VocabularyOptions{PaddingFactor: 1}, "a 5\nb 4\nc 3\nd 2\nmadeupword0001 1\n"},
		{VocabularyOptions{PaddingFactor: 12},
			"a 5\nb 4\nc 3\nd 2\nmadeupword0001 1\nmadeupword0000 0\nmadeupword0002 0\nmadeupword0003 0\n"},
		{VocabularyOptions{PaddingFactor: 1, MinCount: 3}, "a 5\nb 4\nc 3\n"},
		{VocabularyOptions{PaddingFactor: 1, MaxTypes: 2}, "a 5\nb 4\n"},
		{VocabularyOptions{MinCount: 2}, "a 5\nb 4\nc 3\nd 2\n"},
		{VocabularyOptions{PaddingFactor: 1, MaxTypes: 9}, "a 5\nb 4\nc 3\nd 2\nmadeupword0001 1\n"},
		{VocabularyOptions{MaxTypes: 1}, "a 5\nmadeupword0000 0\nmadeupword0001 0\nmadeupword0002 0\n"},
	} {
		if got := written(t, NewVocabulary(counts, c.opts)); got != c.want {
			t.Errorf("%+v: %q, want %q", c.opts, got, c.want)
		}
	}
}

func TestVocabularyFileRoundTrip(t *testing.T) {
	v := NewVocabulary(map[string]int{"the": 5, "@@": 2, "\u00a0": 1, "ä@@": 1}, VocabularyOptions{})
	back, err := ReadVocabulary(strings.NewReader(written(t, v)), "dict.de.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(v.tokens, back.tokens); diff != "" || v.Hash() != back.Hash() ||
		written(t, v) != written(t, back) {
		t.Errorf("hash %s, then %s: %s", v.Hash(), back.Hash(), diff)
	}
	if v.Hash() != sha("the 5\n@@ 2\n\u00a0 1\nä@@ 1\n") {
		t.Errorf("hash %s", v.Hash())
	}
	other := NewVocabulary(map[string]int{"the": 5}, VocabularyOptions{})
	if other.Hash() == v.Hash() {
		t.Error("different vocabularies have one hash")
	}
}

// A file of one's own keeps its order, and gets no padding.
func TestReadVocabularyKeepsOrder(t *testing.T) {
	v, err := ReadVocabulary(strings.NewReader("\ufeffrare 1\r\nthe 100\r\nb@@ 7\r\n"), "mine")
	if err != nil {
		t.Fatal(err)
	}
	if v.Len() != 7 || v.ID("rare") != 4 || v.ID("the") != 5 || v.ID("b@@") != 6 || v.Count(5) != 100 {
		t.Errorf("tokens %q, counts %v", v.tokens, v.counts)
	}
}

func TestReadVocabularyRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                "dict: the vocabulary is empty",
		"a 1\nb\n":        `dict:2: expected a word, one space and its count, not "b"`,
		"a 1\n\nb 1\n":    `dict:2: expected a word, one space and its count, not ""`,
		"a b 1\n":         `dict:1: expected a word, one space and its count, not "a b 1"`,
		"a x\n":           `dict:1: the count of "a" should be a whole number that is not negative, not "x"`,
		"a 1\nb 2\na 3\n": `dict:3: "a" stands on line 1 already; delete one of the two`,
		"a 1\n<unk> 3\n":  `dict:2: "<unk>" is in every vocabulary already; delete the line`,
		"a 1\nb\xff 3\n": "dict:2: byte 2 of the line (0xFF) is not valid UTF-8; convert the text to UTF-8 " +
			"first, for example with iconv",
		"a 1 #fairseq:overwrite\n": "dict:1: #fairseq:overwrite is not supported; delete the line, or its mark if the " +
			"token stands nowhere else",
	} {
		if _, err := ReadVocabulary(strings.NewReader(text), "dict"); err == nil || err.Error() != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}
