package tokenize

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// bpeCase is a line of testdata/bpe_cases.jsonl: subword-nmt learnt and applied
// codes with random options on random words.
type bpeCase struct {
	Words       [][2]any
	LearnMerges int `json:"learn_merges"`
	Minimum     int
	Total       bool
	Exact       bool
	Codes       string
	ApplyCodes  string `json:"apply_codes"`

	Merges     int
	Separator  string
	Glossaries []string
	Vocabulary string
	Threshold  int
	Dropout    float64
	Seed       int64
	Lines      []string
	Segmented  []string
}

func readBPECases(t *testing.T, path string) []bpeCase {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []bpeCase
	scanner := bufio.NewScanner(f)
	scanner.Buffer(nil, 1<<24)
	for scanner.Scan() {
		var c bpeCase
		if err := json.Unmarshal(scanner.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	if err := scanner.Err(); err != nil || len(cases) == 0 {
		t.Fatalf("%d cases, error %v", len(cases), err)
	}
	return cases
}

func (c bpeCase) wordCounts() *WordCounts {
	var words WordCounts
	for _, w := range c.Words {
		words.Add(w[0].(string), int(w[1].(float64)))
	}
	return &words
}

func (c bpeCase) bpe(t *testing.T) *BPE {
	t.Helper()
	codes, err := ReadCodes(strings.NewReader(c.ApplyCodes), "codes")
	if err != nil {
		t.Fatal(err)
	}
	vocabulary, err := ReadBPEVocabulary(strings.NewReader(c.Vocabulary), "vocabulary", c.Threshold)
	if err != nil {
		t.Fatal(err)
	}
	bpe, err := NewBPE(codes.First(c.Merges), BPEOptions{
		Separator: c.Separator, Vocabulary: vocabulary, Glossaries: c.Glossaries, Dropout: c.Dropout, Seed: c.Seed,
	})
	if err != nil {
		t.Fatal(err)
	}
	return bpe
}

func TestLearnAgainstSubwordNMT(t *testing.T) {
	for i, c := range readBPECases(t, "testdata/bpe_cases.jsonl") {
		if !c.Exact {
			continue
		}
		codes, _, err := Learn(c.wordCounts(),
			LearnOptions{Merges: c.LearnMerges, MinFrequency: c.Minimum, TotalSymbols: c.Total})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.Codes, writtenCodes(t, codes)); diff != "" {
			t.Errorf("case %d, words %v, at most %d merges (-subword-nmt +ours):\n%s", i, c.Words, c.LearnMerges, diff)
		}
	}
}

func TestApplyAgainstSubwordNMT(t *testing.T) {
	for i, c := range readBPECases(t, "testdata/bpe_cases.jsonl") {
		bpe := c.bpe(t)
		for j, line := range c.Lines {
			if got := bpe.Line(line); got != c.Segmented[j] {
				t.Errorf("case %d, line %q, glossaries %q, dropout %v:\n got %q\nwant %q",
					i, line, c.Glossaries, c.Dropout, got, c.Segmented[j])
			}
		}
	}
}

func writtenCodes(t *testing.T, codes *Codes) string {
	t.Helper()
	var out strings.Builder
	if err := codes.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
