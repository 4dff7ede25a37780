package translation

// SourceWord is the whole word that a source unit belongs to, for tests.
func (t *Translator) SourceWord(units []string, place int) string { return t.sourceWord(units, place) }
