package translation

import "github.com/aperture-ml/aperture/models/decode"

// SourceWord is the whole word that a source unit belongs to, for tests.
func (t *Translator) SourceWord(units []string, place int) string {
	return t.Text.sourceWord(units, place)
}

// Words is a hypothesis as a tokenised line, for tests.
func (t *Translator) Words(source []string, h decode.Hypothesis, o decode.Options) string {
	return t.words(source, h, o)
}

// SingleSpaced is singleSpaced.
func SingleSpaced(line string) bool { return singleSpaced(line) }
