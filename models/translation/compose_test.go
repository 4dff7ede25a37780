package translation

import (
	"testing"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/translation/bitext"
)

// TestComposeBesideContractions: text that stands in a translation to the letter has the spaces of the word that it
// takes the place of.
func TestComposeBesideContractions(t *testing.T) {
	for _, c := range []struct {
		language, line, word, text, want string
	}{
		{"en", "anna's dog", "anna", "Anna", "Anna's dog"},
		{"fr", "l'anna", "anna", "Anna", "l'Anna"},
		{"en", "anna , anna", "anna", "(ANNA)", "(ANNA), anna"},
	} {
		s := Defaults()
		s.Text.Source, s.Text.Target, s.Text.SourceUnits, s.Text.TargetUnits = "de", c.language, "word", "word"
		s.Text.Lowercase, s.Text.Joint, s.Text.JointCodes = true, false, false
		sides, err := bitext.Learn(s.Text, bitext.InMemory([]string{c.line}, []string{c.line}), nil)
		if err != nil {
			t.Fatal(err)
		}
		made := &Translator{Text: sides}
		ids := sides.Target.Encode(c.line)
		d := demand{phrases: []phrase{{ids: []int32{sides.Target.Vocabulary.ID(c.word)}, text: c.text}}}
		text, _ := made.compose(nil, decode.Hypothesis{IDs: ids}, d, decode.Options{})
		if text != c.want {
			t.Errorf("%s: %q, want %q", c.language, text, c.want)
		}
	}
}
