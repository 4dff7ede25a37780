package translation_test

import (
	"math"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// TestVectorRequests: a layer that finds words by their vectors meets demands for words that have one, refuses others
// in a sentence, and has links but no probabilities.
func TestVectorRequests(t *testing.T) {
	config := strings.NewReplacer("merges = 50",
		"merges = 0\njoint = false\njoint_codes = false\ntarget_units = \"word\"\ntokenize = \"none\"",
		"width = 8", "width = 8\ntying = \"none\"").Replace(smallConfig) +
		"\n[objective]\nmethod = \"vmf\"\nvectors_width = 3\nmap_norm = false\n"
	torch.Test(t, func() {
		s := settings(t, config, func(*translation.Settings) {})
		source, target := numbers(1, 60, 3)
		pair, err := translation.LearnText(s, bitext.InMemory(source, target), nil)
		if err != nil {
			t.Fatal(err)
		}
		made, err := translation.New(s, pair, device)
		if err != nil {
			t.Fatal(err)
		}
		defer made.Free()
		words := strings.Fields(target[0])
		for _, beam := range []int{1, 5} {
			o := decode.Defaults()
			o.Beam, o.MaxLengthB, o.Links = beam, 12, true
			r := translation.Request{Line: source[0], Prefix: words[1],
				Terms: glossary(t, made, strings.Fields(source[0])[0], words[0])}
			x := request(t, made, o, r)[0][0]
			if x.Err != nil || !strings.HasPrefix(x.Text, words[1]) || tokenize.CountWords(x.Text, words[0]) == 0 {
				t.Errorf("beam %d: %q (%v) does not hold %q", beam, x.Text, x.Err, words[:2])
			}
			if d := x.Details; d == nil || !math.IsNaN(d.Confidence) || len(d.Words[0].Source) != 1 {
				t.Errorf("the details %+v", d)
			}
			o.Words = true
			if _, err := made.TranslateRequests(t.Context(), []translation.Request{r}, o); err == nil ||
				!strings.Contains(err.Error(), "no probability") {
				t.Errorf("confidence: %v", err)
			}
		}
		v := made.Text.Vectors
		for k := range v.Width {
			v.Rows[tokenize.Unk*v.Width+k] = 0
		}
		if _, err := made.Glossary(t.Context(), []translation.Term{{Source: "one", Target: "Größe"}}); err == nil ||
			!strings.Contains(err.Error(), "has none for") {
			t.Errorf("a word without a vector: %v", err)
		}
	})
}
