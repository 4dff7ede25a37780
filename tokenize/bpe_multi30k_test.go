package tokenize

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// multi30kText prepares a raw file as Multi30k's own prepared text was made:
// lower case, punctuation normalised, tokenised by Moses of 2017.
func multi30kText(t *testing.T, name, language string) string {
	t.Helper()
	raw, err := os.Open(fixtures.Path(t, "multi30k/"+name+"."+language))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	moses, err := NewMoses(MosesOptions{Language: language, Version: Moses2017})
	if err != nil {
		t.Fatal(err)
	}
	normalizer := NewNormalizer(language, Moses2017)
	var out strings.Builder
	lines := NewLines(raw, name)
	for lines.Next() {
		out.WriteString(moses.Tokenize(normalizer.Normalize(Lowercase(lines.Text()))))
		out.WriteByte('\n')
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// segmentText segments a text, and counts its units.
func segmentText(t *testing.T, bpe *BPE, text string) (string, *WordCounts) {
	t.Helper()
	var out bytes.Buffer
	var units WordCounts
	lines := NewLines(strings.NewReader(text), "text")
	for lines.Next() {
		line := bpe.Line(lines.Text())
		if back := UndoBPE(line, DefaultSeparator); !slices.Equal(splitWords(back), splitWords(lines.Text())) {
			t.Fatalf("%q came back as %q", lines.Text(), back)
		}
		units.AddLine(line)
		out.WriteString(line)
		out.WriteByte('\n')
	}
	return out.String(), &units
}

func tokens(units *WordCounts) int {
	sum := 0
	for _, n := range units.counts {
		sum += n
	}
	return sum
}

func checkSHA(t *testing.T, what, text, want string) {
	t.Helper()
	if got := sha(text); !strings.HasPrefix(got, want) {
		t.Errorf("%s: sha256 %s, want %s", what, got, want)
	}
}

// The numbers and sums are those of subword-nmt on the same text.
func TestJointCodesOfMulti30k(t *testing.T) {
	de, en := multi30kText(t, "train", "de"), multi30kText(t, "train", "en")
	checkSHA(t, "train.de", de, "cb5a23529b65ec20")
	checkSHA(t, "train.en", en, "08925f8e0572bcd5")
	words := countsOf(t, de)
	if err := words.ReadText(strings.NewReader(en), "train.en"); err != nil {
		t.Fatal(err)
	}
	all, _ := learnt(t, words, LearnOptions{Merges: 10000})
	for _, c := range []struct {
		merges, typesDE, typesEN, typesBoth, tokensDE, tokensEN int
		sha                                                     string
	}{
		{1000, 982, 822, 1095, 600585, 566921, "e0c53459be27cca6"},
		{2000, 1759, 1446, 2090, 514114, 487528, "6be282e30d5d7bdb"},
		{4000, 3183, 2495, 4046, 451680, 436781, "c58199b40df54912"},
		{6000, 4528, 3475, 5974, 425586, 415919, "f5e5f170f5ace888"},
		{8000, 5828, 4368, 7866, 410320, 404768, "7368bb9f4678ade4"},
		{10000, 7062, 5199, 9708, 400507, 397793, "5b545f318e49f243"},
	} {
		codes := all.First(c.merges)
		checkSHA(t, "codes", writtenCodes(t, codes), c.sha)
		bpe := newTestBPE(t, codes, BPEOptions{})
		_, unitsDE := segmentText(t, bpe, de)
		_, unitsEN := segmentText(t, bpe, en)
		both := unitsEN.Map()
		for unit, n := range unitsDE.Map() {
			both[unit] += n
		}
		got := []int{unitsDE.Len(), unitsEN.Len(), len(both), tokens(unitsDE), tokens(unitsEN)}
		for i, want := range []int{c.typesDE, c.typesEN, c.typesBoth, c.tokensDE, c.tokensEN} {
			if got[i] != want {
				t.Errorf("%d merges: types de, en, both, tokens de, en are %v, want %+v", c.merges, got, c)
				break
			}
		}
	}
	checkVocabularies(t, all, de, en)
}

// checkVocabularies looks at 10,000 merges: vocabulary files, segmented text, and
// segmenting again with the units seen 50 times.
func checkVocabularies(t *testing.T, codes *Codes, de, en string) {
	t.Helper()
	bpe := newTestBPE(t, codes, BPEOptions{})
	segmentedDE, unitsDE := segmentText(t, bpe, de)
	_, unitsEN := segmentText(t, bpe, en)
	checkSHA(t, "segmented train.de", segmentedDE, "b2c74def7ec129f7")
	testDE, _ := segmentText(t, bpe, multi30kText(t, "test_2016_flickr", "de"))
	checkSHA(t, "segmented test_2016_flickr.de", testDE, "375c20d50f4c4861")
	dropped, _ := segmentText(t, newTestBPE(t, codes, BPEOptions{Dropout: 0.1, Seed: 1}), de)
	checkSHA(t, "train.de segmented with dropout 0.1 and seed 1", dropped, "6d5ccd8c973b3ccd")
	if unitsDE.Count(".") != 28824 || unitsDE.Count("ein") != 18883 || unitsDE.Count("einem") != 13716 {
		t.Error("counts of the most frequent German units")
	}
	for _, c := range []struct {
		text           string
		units          *WordCounts
		vocabularySHA  string
		tokens, types  int
		thresholdedSHA string
	}{
		{en, unitsEN, "ff695bbe47f67292", 545411, 857, "7b454603e264d6be"},
		{de, unitsDE, "8b89f946767884ee", 601993, 906, "cef7a1334170b19c"},
	} {
		var file strings.Builder
		if err := c.units.Write(&file); err != nil {
			t.Fatal(err)
		}
		checkSHA(t, "vocabulary", file.String(), c.vocabularySHA)
		frequent, err := ReadBPEVocabulary(strings.NewReader(file.String()), "vocabulary", 50)
		if err != nil {
			t.Fatal(err)
		}
		segmented, units := segmentText(t, newTestBPE(t, codes, BPEOptions{Vocabulary: frequent}), c.text)
		checkSHA(t, "text segmented with a threshold of 50", segmented, c.thresholdedSHA)
		if units.Len() != c.types || tokens(units) != c.tokens {
			t.Errorf("threshold 50: %d types, %d tokens, want %d and %d", units.Len(), tokens(units), c.types, c.tokens)
		}
	}
}
