package sample

import "slices"

// grammaticalCase is the case of a phrase in the target language.
type grammaticalCase int

const (
	nominative grammaticalCase = iota
	accusative
	dative
	genitive
)

// number3 is the person and number a target verb agrees with.
type number3 int

const (
	firstSingular number3 = iota
	secondSingular
	firstPlural
	thirdPlural
	thirdSingular
)

type tense int

const (
	present tense = iota
	past
	future
)

// strong holds the endings of determiners, relative pronouns and, after no
// definite determiner, adjectives: rows masculine, feminine, neuter, plural;
// columns nominative, accusative, dative, genitive.
var strong = [4][4]string{
	{"o", "on", "om", "os"},
	{"a", "an", "e", "as"},
	{"i", "i", "im", "is"},
	{"e", "es", "en", "er"},
}

// weakEnding is an adjective's ending after a definite determiner.
func weakEnding(plural bool, c grammaticalCase) string {
	if !plural && c == nominative {
		return "u"
	}
	return "un"
}

const (
	targetThe, targetA, targetThis, targetWho = "l", "un", "kest", "k"
	targetNot, targetWill, targetThat         = "nuo", "vor", "daz"
	pastMark, infinitive                      = "iv", "ir"
)

var (
	targetOwners   = [...]string{"mein", "tei", "nostr", "lor"}
	targetPronouns = [...]string{"eo", "tu", "noi", "eli"}
	pluralEndings  = [...]string{"ar", "il", "et"}
	linkers        = [...]string{"", "s", "o"}
	verbEndings    = [...]string{"u", "est", "om", "on", "et"}
)

// targetFunctionWords lists every form that a coined word must not take.
func targetFunctionWords() []string {
	words := []string{targetNot, targetThat}
	words = append(words, targetPronouns[:]...)
	for _, stem := range slices.Concat([]string{targetThe, targetA, targetThis, targetWho}, targetOwners[:]) {
		for _, row := range strong {
			for _, ending := range row {
				words = append(words, stem+ending)
			}
		}
	}
	for _, ending := range verbEndings {
		words = append(words, targetWill+ending)
	}
	return words
}

// form gives a target noun in its case.
func (n *noun) form(plural bool, c grammaticalCase) string {
	switch {
	case plural && c == dative:
		return n.target + n.plural + "n"
	case plural:
		return n.target + n.plural
	case c == genitive && n.gender != feminine:
		return n.target + "es"
	}
	return n.target
}

// form gives the finite form without the prefix; there is none in the future,
// which is an auxiliary with the infinitive.
func (v *verb) form(t tense, who number3) string {
	if t == past {
		return v.past + pastMark + verbEndings[who]
	}
	return v.target + verbEndings[who]
}
