package translation

import "github.com/aperture-ml/aperture/models/decode"

// SourceWord is the whole word that a source unit belongs to, for tests.
func (t *Translator) SourceWord(units []string, place int) string {
	return sourceWord(t.Text, units, place)
}

// Words is a hypothesis as a tokenised line, given the symbols of its source, for tests.
func (t *Translator) Words(source []string, h decode.Hypothesis, o decode.Options) string {
	return joinTokens(compact(tokensOf(t.Text.Target, t.symbols(source, h, o)), o))
}

// VectorsTensor is vectorsTensor, for tests.
var VectorsTensor = vectorsTensor
