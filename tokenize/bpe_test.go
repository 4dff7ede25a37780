package tokenize

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newTestBPE(t *testing.T, codes *Codes, opts BPEOptions) *BPE {
	t.Helper()
	b, err := NewBPE(codes, opts)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestApplyVectors(t *testing.T) {
	codes := subwordNMTCodes(t)
	plain := newTestBPE(t, codes, BPEOptions{})
	glossed := newTestBPE(t, codes, BPEOptions{Glossaries: []string{"USA"}})
	for _, c := range []struct {
		bpe        *BPE
		line, want string
	}{
		{plain, "iron cement flying USA 1934USABUSA",
			"ir@@ on c@@ ement fl@@ y@@ ing U@@ S@@ A 19@@ 3@@ 4@@ U@@ S@@ A@@ B@@ U@@ S@@ A"},
		{glossed, "iron cement flying USA 1934USABUSA",
			"ir@@ on c@@ ement fl@@ y@@ ing USA 19@@ 3@@ 4@@ USA@@ B@@ USA"},
		{plain, "iron\u00a0cement", "ir@@ on@@ \u00a0@@ c@@ ement"},
		{plain, "  iron   cement  ", "  ir@@ on c@@ ement  "},
		{plain, " iron \r", " ir@@ on \r"},
		{plain, "", ""},
		{plain, "   ", "   "},
		{plain, "\r", "\r"},
		{plain, "x ü 😀", "x ü 😀"},
		{plain, "iron\u2028cement", "ir@@ on@@ \u2028@@ c@@ ement"},
	} {
		for range 2 { // the second time from the cache
			if got := c.bpe.Line(c.line); got != c.want {
				t.Errorf("%q:\n got %q\nwant %q", c.line, got, c.want)
			}
		}
		units := c.bpe.Words(strings.Split(strings.Trim(c.line, lineBlanks), " "))
		if got, want := strings.Join(units, " "), strings.Trim(c.want, lineBlanks); got != want {
			t.Errorf("%q: units %q, want %q", c.line, got, want)
		}
	}
}

func TestUndoBPE(t *testing.T) {
	for _, c := range [][2]string{
		{"ir@@ on c@@ ement", "iron cement"},
		{"ir@@", "ir"},
		{"ir@@ ", "ir"},
		{"a@@@ b", "a@b"},
		{"a@@@@ ", "a@@"},
		{"a@@ @@", "a"},
		{" a@@ b \r", " ab \r"},
		{"", ""},
	} {
		if got := UndoBPE(c[0], "@@"); got != c[1] {
			t.Errorf("%q: got %q, want %q", c[0], got, c[1])
		}
	}
}

func TestUndoRestoresLines(t *testing.T) {
	for i, c := range readBPECases(t, "testdata/bpe_cases.jsonl") {
		bpe := c.bpe(t)
		for _, line := range c.Lines {
			trimmed := strings.Trim(line, lineBlanks)
			want := strings.Replace(line, trimmed, strings.Join(splitWords(trimmed), " "), 1)
			if strings.Contains(line, c.Separator+" ") {
				continue // the text itself looks segmented
			}
			if got := UndoBPE(bpe.Line(line), c.Separator); got != want && !strings.HasSuffix(line, c.Separator) {
				t.Errorf("case %d: %q came back as %q", i, line, got)
			}
		}
	}
}

func splitWords(line string) []string {
	var words []string
	for _, word := range strings.Split(line, " ") {
		if word != "" {
			words = append(words, word)
		}
	}
	return words
}

// Units are at most characters and merges, and more merges never make more tokens.
func TestUnitsAreBounded(t *testing.T) {
	codes := subwordNMTCodes(t)
	text := "the quick brown fox jumps over the lazy dog while iron cement protects the ingot against abrasive casting"
	last := 1 << 30
	for n := 0; n <= 1000; n += 250 {
		units := newTestBPE(t, codes.First(n), BPEOptions{}).Words(splitWords(text))
		if len(units) > last {
			t.Errorf("%d merges: %d units after %d", n, len(units), last)
		}
		last = len(units)
		if n == 0 && len(units) != len(strings.ReplaceAll(text, " ", "")) {
			t.Errorf("no merges: %q", units)
		}
	}
}

func TestVocabularyUndoesMerges(t *testing.T) {
	codes, err := ReadCodes(strings.NewReader("#version: 0.2\na b\nab c</w>\nd e\nab de\n"), "codes")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		vocabulary, word, want string
		threshold              int
	}{
		{"abc 5\n", "abc", "abc", 0},
		{"ab@@ 5\nc 5\n", "abc", "ab@@ c", 0},
		{"a@@ 5\nb@@ 5\n", "abc", "a@@ b@@ c", 0}, // c is unknown, and cannot be split
		{"abc 5\nab@@ 9\nc 9\n", "abc", "ab@@ c", 6},
		{"abde 5\nab@@ 5\nde@@ 5\nx 5\n", "abdex", "ab@@ de@@ x", 0},
		{"abc 5\n", "abc", "abc", 6}, // an empty vocabulary checks nothing
		{"q 1\n", "z", "z", 0},
	} {
		units, err := ReadBPEVocabulary(strings.NewReader(c.vocabulary), "vocabulary", c.threshold)
		if err != nil {
			t.Fatal(err)
		}
		if got := newTestBPE(t, codes, BPEOptions{Vocabulary: units}).Line(c.word); got != c.want {
			t.Errorf("vocabulary %q, threshold %d: %q became %q, want %q", c.vocabulary, c.threshold, c.word, got,
				c.want)
		}
	}
}

func TestDropoutOfOneLeavesCharacters(t *testing.T) {
	b := newTestBPE(t, subwordNMTCodes(t), BPEOptions{Dropout: 1, Seed: 3})
	if got, want := b.Line("the iron"), "t@@ h@@ e i@@ r@@ o@@ n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNewBPERefuses(t *testing.T) {
	codes := &Codes{Version: "0.2"}
	for _, c := range []struct {
		opts BPEOptions
		want string
	}{
		{BPEOptions{Separator: "a b"}, "separator"},
		{BPEOptions{Dropout: 1.5}, "between 0 and 1"},
		{BPEOptions{Dropout: -0.1}, "between 0 and 1"},
		{BPEOptions{Glossaries: []string{"ok", "(?=a)"}}, `glossary "(?=a)" is not`},
	} {
		if _, err := NewBPE(codes, c.opts); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.opts, err)
		}
	}
}

func TestReadCodes(t *testing.T) {
	merges := []Merge{{"a", "b"}, {"ab", "c</w>"}}
	for text, want := range map[string]*Codes{
		"#version: 0.2\na b\nab c</w>\n":           {"0.2", merges},
		"#version: 0.2.0\na b\nab c</w>\n\n\n":     {"0.2", merges},
		"#version: 0.2\r\na b\r\nab c</w>\r\n":     {"0.2", merges},
		"\ufeff#version: 0.2\na b\nab c</w>":       {"0.2", merges},
		"#version: 0.1\na b\nab c</w>\n":           {"0.1", merges},
		"a b\nab c</w>\n":                          {"0.1", merges},
		"#version: 0.2\n":                          {"0.2", nil},
		"#version: 0.2\n# a\na \u00a0\n\u2028 b\n": {"0.2", []Merge{{"#", "a"}, {"a", "\u00a0"}, {"\u2028", "b"}}},
		"#version: 0.2\na \r\n":                    {"0.2", []Merge{{"a", "\r"}}},
	} {
		got, err := ReadCodes(strings.NewReader(text), "codes")
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v %s", text, err, diff)
		}
	}
	for text, want := range map[string]string{
		"":                          "codes: the codes file is empty; learn one with bpe-learn",
		"#version: 0.2\na b\nabc\n": `codes:3: a merge is two symbols with one space between them, not "abc"`,
		"#version: 0.2\na b c\n":    `codes:2: a merge is two symbols with one space between them, not "a b c"`,
		"#version: 0.2\na  b\n":     `codes:2: a merge is two symbols with one space between them, not "a  b"`,
		"#version: 0.2\n\na b\n":    "codes:2: a blank line among the merges; delete it",
		"#version: 0.3\na b\n":      `codes:1: codes of version "0.3" are not known; 0.1 and 0.2 are`,
		"#version: 0.2 byte\na b\n": "codes:1: these codes are byte-level; learn codes over characters instead",
		"#version: 0.2\na b\n\xff b\n": "codes:3: byte 1 of the line (0xFF) is not valid UTF-8; convert the text to " +
			"UTF-8 first, for example with iconv",
	} {
		if _, err := ReadCodes(strings.NewReader(text), "codes"); err == nil || err.Error() != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// applySlowly merges round by round as the description of the algorithm says.
func applySlowly(codes *Codes, word string) []string {
	ranks := map[Merge]int{}
	for i, m := range codes.Merges {
		if _, ok := ranks[m]; !ok {
			ranks[m] = i
		}
	}
	symbols := strings.Split(word, "")
	symbols[len(symbols)-1] += endOfWord
	for {
		best := len(codes.Merges)
		for i := 1; i < len(symbols); i++ {
			if rank, ok := ranks[Merge{symbols[i-1], symbols[i]}]; ok {
				best = min(best, rank)
			}
		}
		if best == len(codes.Merges) {
			break
		}
		symbols = mergeSlowly(symbols, codes.Merges[best])
	}
	last := len(symbols) - 1
	symbols[last] = strings.TrimSuffix(symbols[last], endOfWord)
	return symbols
}

// Words short and long, for the scan and the heap, by codes learnt and shuffled:
// shuffled codes have merges that come before those that make their parts.
func TestMergeAgainstDescription(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		alphabet := []rune([]string{"ab", "abcde", "aäж中😀"}[r.IntN(3)])
		random := func(length int) string {
			word := make([]rune, length)
			for i := range word {
				word[i] = alphabet[r.IntN(len(alphabet))]
			}
			return string(word)
		}
		var words WordCounts
		for range 20 {
			words.Add(random(2+r.IntN(10)), 1+r.IntN(5))
		}
		codes, _ := learnt(t, &words, LearnOptions{Merges: 60, MinFrequency: 1})
		if r.IntN(2) == 0 {
			r.Shuffle(len(codes.Merges), func(i, j int) {
				codes.Merges[i], codes.Merges[j] = codes.Merges[j], codes.Merges[i]
			})
		}
		b := newTestBPE(t, codes, BPEOptions{Separator: "|"})
		for _, length := range []int{2, 3, 10, shortWord - 1, shortWord, shortWord + 1, 400} {
			word := random(length)
			want := strings.Join(applySlowly(codes, word), "| ")
			if got := b.Line(word); got != want {
				t.Fatalf("merges %q, word %q:\n got %q\nwant %q", codes.Merges, word, got, want)
			}
		}
	}
}

func BenchmarkApplyUncached(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	var words WordCounts
	var texts []string
	for range 2000 {
		word := make([]byte, 3+r.IntN(12))
		for i := range word {
			word[i] = byte('a' + min(r.IntN(26), r.IntN(26)))
		}
		words.Add(string(word), 1+r.IntN(20))
		texts = append(texts, string(word))
	}
	codes, _, err := Learn(&words, LearnOptions{Merges: 2000})
	if err != nil {
		b.Fatal(err)
	}
	bpe, err := NewBPE(codes, BPEOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		for _, word := range texts {
			bpe.out = bpe.appendPiece(bpe.out[:0], word)
		}
	}
}

// TestEndSymbol: in codes of version 0.1 the end of a word is a symbol, and undoing its merge leaves no unit.
func TestEndSymbol(t *testing.T) {
	codes := &Codes{Version: "0.1", Merges: []Merge{{"e", "r"}, {"er", endOfWord}}}
	b, err := NewBPE(codes, BPEOptions{Vocabulary: map[string]bool{"x@@": true}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"x@@", "e@@", "r"}, b.Words([]string{"xer"})); diff != "" {
		t.Error(diff)
	}
}
