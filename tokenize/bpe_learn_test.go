package tokenize

import (
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func countsOf(t *testing.T, text string) *WordCounts {
	t.Helper()
	var words WordCounts
	if err := words.ReadText(strings.NewReader(text), "text"); err != nil {
		t.Fatal(err)
	}
	return &words
}

func learnt(t *testing.T, words *WordCounts, opts LearnOptions) (*Codes, LearnReport) {
	t.Helper()
	codes, report, err := Learn(words, opts)
	if err != nil {
		t.Fatal(err)
	}
	return codes, report
}

// The example of Sennrich et al.: 15 merges are asked for, 13 pairs occur twice.
func TestLearnToyCorpus(t *testing.T) {
	var words WordCounts
	if err := words.ReadDict(strings.NewReader("low 5\nlower 2\nnewest 6\nwidest 3\n"), "toy"); err != nil {
		t.Fatal(err)
	}
	codes, report := learnt(t, &words, LearnOptions{Merges: 15})
	want := "#version: 0.2\ns t</w>\ne st</w>\nl o\nw est</w>\nn e\nne west</w>\nlo w</w>\nw i\nwi d\nwid est</w>\nw " +
		"e\nwe r</w>\nlo wer</w>\n"
	if diff := cmp.Diff(want, writtenCodes(t, codes)); diff != "" {
		t.Error(diff)
	}
	if !report.Stopped || report.InternalCharacters != 8 || report.FinalCharacters != 3 {
		t.Errorf("report %+v", report)
	}
}

// subwordNMTCodes learns 1000 merges on the words that subword-nmt tests with.
func subwordNMTCodes(t *testing.T) *Codes {
	t.Helper()
	f, err := os.Open("testdata/subword_nmt_words.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var words WordCounts
	if err := words.ReadDict(f, "words"); err != nil {
		t.Fatal(err)
	}
	codes, _ := learnt(t, &words, LearnOptions{Merges: 1000})
	return codes
}

func TestLearnBundledCorpus(t *testing.T) {
	written := writtenCodes(t, subwordNMTCodes(t))
	if !strings.HasPrefix(written, "#version: 0.2\nt h\nth e</w>\ni n\na n\ne r\n") {
		t.Errorf("first merges: %q", written[:60])
	}
	if len(written) != 7857 || sha(written) != "099a13f9130ce79b66b13d36608ac48aab72fe86a4e432c2ac1ac3de24db784f" {
		t.Errorf("%d bytes, sha256 %s", len(written), sha(written))
	}
}

// learnSlowly counts all pairs anew for every merge.
func learnSlowly(counts *WordCounts, n, minimum int) []Merge {
	var words [][]string
	for _, word := range counts.words {
		symbols := strings.Split(word, "")
		symbols[len(symbols)-1] += endOfWord
		words = append(words, symbols)
	}
	var merges []Merge
	for len(merges) < n {
		pairs := map[Merge]int{}
		for w, word := range words {
			for i := 1; i < len(word); i++ {
				pairs[Merge{word[i-1], word[i]}] += counts.counts[w]
			}
		}
		var best Merge
		most := -1
		for p, count := range pairs {
			if count > most || count == most && (p.Left > best.Left || p.Left == best.Left && p.Right > best.Right) {
				best, most = p, count
			}
		}
		if most < minimum {
			break
		}
		merges = append(merges, best)
		for w, word := range words {
			words[w] = mergeSlowly(word, best)
		}
	}
	return merges
}

func mergeSlowly(word []string, m Merge) []string {
	var out []string
	for i := 0; i < len(word); i++ {
		if i+1 < len(word) && word[i] == m.Left && word[i+1] == m.Right {
			out = append(out, m.Left+m.Right)
			i++
		} else {
			out = append(out, word[i])
		}
	}
	return out
}

func TestLearnKeepsExactCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		alphabet := []rune([]string{"ab", "abcd", "aä\u00a0\t", "ж中😀e\u0301", "</w>"}[r.IntN(5)])
		var words WordCounts
		for range 1 + r.IntN(25) {
			word := make([]rune, 1+r.IntN(12))
			for i := range word {
				word[i] = alphabet[r.IntN(len(alphabet))]
			}
			words.Add(string(word), r.IntN(9))
		}
		n, minimum := r.IntN(40), 1+r.IntN(3)
		codes, _ := learnt(t, &words, LearnOptions{Merges: n, MinFrequency: minimum})
		if diff := cmp.Diff(learnSlowly(&words, n, minimum), codes.Merges); diff != "" {
			t.Fatalf("words %q, counts %v, %d merges (-recounted +ours):\n%s", words.words, words.counts, n, diff)
		}
	}
}

func TestLearnJointIsLearningOnBoth(t *testing.T) {
	joint := countsOf(t, "zwei männer\nmänner gehen")
	if err := joint.ReadText(strings.NewReader("two men go\n\nten men"), "en"); err != nil {
		t.Fatal(err)
	}
	together := countsOf(t, "two men go\r\nten men\n  zwei  männer \nmänner gehen")
	a, _ := learnt(t, joint, LearnOptions{Merges: 12, MinFrequency: 1})
	b, _ := learnt(t, together, LearnOptions{Merges: 12, MinFrequency: 1})
	if diff := cmp.Diff(a, b); diff != "" {
		t.Error(diff)
	}
	if len(a.Merges) != 12 {
		t.Errorf("%d merges", len(a.Merges))
	}
}

func TestLearnTotalSymbols(t *testing.T) {
	words := countsOf(t, "abab abab abba")
	all, _ := learnt(t, words, LearnOptions{Merges: 2})
	budget, report := learnt(t, words, LearnOptions{Merges: 6, TotalSymbols: true})
	if report.InternalCharacters != 2 || report.FinalCharacters != 2 {
		t.Errorf("report %+v", report)
	}
	if diff := cmp.Diff(all, budget); diff != "" || len(all.Merges) != 2 {
		t.Error(diff)
	}
	if none, _ := learnt(t, words, LearnOptions{Merges: 3, TotalSymbols: true}); len(none.Merges) != 0 {
		t.Errorf("merges beyond the budget: %v", none.Merges)
	}
}

func TestLearnOnNothing(t *testing.T) {
	for _, text := range []string{"", "\n\n", "a b c\n"} {
		codes, report := learnt(t, countsOf(t, text), LearnOptions{Merges: 5})
		if written := writtenCodes(t, codes); written != "#version: 0.2\n" || !report.Stopped {
			t.Errorf("text %q: codes %q, report %+v", text, written, report)
		}
	}
}

func TestLearnRefuses(t *testing.T) {
	for _, opts := range []LearnOptions{{Merges: -1}, {Merges: 1, MinFrequency: -2}} {
		if _, _, err := Learn(&WordCounts{}, opts); err == nil {
			t.Errorf("%+v: no error", opts)
		}
	}
	var words WordCounts
	err := words.ReadText(strings.NewReader("gut\ngr\xfcn\n"), "train.de")
	if err == nil || !strings.HasPrefix(err.Error(), "train.de:2: byte 3 of the line (0xFC) is not valid UTF-8") {
		t.Errorf("bad UTF-8: %v", err)
	}
	for dict, want := range map[string]string{
		"low 5\nlower\n":    `words:2: expected a word, one space and its count, not "lower"`,
		"low 5\nlo wer 2\n": `words:2: expected a word, one space and its count, not "lo wer 2"`,
		"low five\n":        `words:1: the count of "low" should be a whole number that is not negative, not "five"`,
		"low -5\n":          `words:1: the count of "low" should be a whole number that is not negative, not "-5"`,
	} {
		var words WordCounts
		if err := words.ReadDict(strings.NewReader(dict), "words"); err == nil || err.Error() != want {
			t.Errorf("dictionary %q: %v", dict, err)
		}
	}
}

func TestWordCountsWrite(t *testing.T) {
	words := countsOf(t, "b a@@ c\n\n a@@  tab\there \r\n c b c\n")
	var out strings.Builder
	if err := words.Write(&out); err != nil {
		t.Fatal(err)
	}
	if want := "c 3\nb 2\na@@ 2\ntab\there 1\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	if words.Count("c") != 3 || words.Count("d") != 0 || words.Len() != 4 || words.Map()["b"] != 2 {
		t.Errorf("counts %v", words.Map())
	}
}
