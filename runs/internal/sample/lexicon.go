package sample

import (
	"math/rand/v2"
	"slices"
)

// translated is a word, or the stem of one, in both languages.
type translated struct{ source, target string }

const (
	masculine = iota
	feminine
	neuter
)

// kind sorts nouns by what can be done with them; a verb or preposition asks for one kind, and that is what tells the
// senses of a homograph apart.
type kind int

const (
	person kind = iota
	thing
	place
	kinds
)

type noun struct {
	translated
	gender int
	plural string // the target's plural ending
	linker string // between this noun and the head of a compound
}

type adjective struct {
	translated
	after bool // the target puts it after the noun
}

// frame is what a verb asks for.
type frame int

const (
	rests   frame = iota // no object, perhaps a place where
	moves                // a place whither
	treats               // an object that is a person
	handles              // an object that is a thing
	says                 // a clause
	frames
)

type verb struct {
	translated
	particle string // of a phrasal verb of the source
	past     string // the target's stem
	prefix   string // of the target, separable; may be empty
}

// determiner is the word that opens a noun phrase.
type determiner struct {
	translated
	declined bool // the target adds the strong ending
	weak     bool // adjectives after it have the weak ending
}

// The function words. The target's determiners and "who" are stems.
var (
	the  = determiner{translated{"ta", "l"}, true, true}
	this = determiner{translated{"shi", "kest"}, true, true}
	a    = determiner{translated{"o", "un"}, true, false}

	not  = translated{"nai", "nuo"}
	will = translated{"sal", "vor"}
	that = translated{"keh", "daz"}
	who  = translated{"wu", "k"}

	owners   = []translated{{"mai", "mein"}, {"yor", "tei"}, {"awa", "nostr"}, {"dey", "lor"}}
	pronouns = []translated{{"mi", "eo"}, {"yu", "tu"}, {"wi", "noi"}, {"da", "eli"}}
)

// What the source alone has: words for a genitive and for a question, and endings.
const sourceOf, sourceAsk, sourcePlural, sourcePast = "bi", "eku", "en", "ota"

// The target's endings.
const pastMark, infinitive = "iv", "ir"

var (
	// strong is for determiners, relative pronouns and, after no definite determiner, adjectives: rows masculine,
	// feminine, neuter, plural; columns nominative, accusative, dative, genitive.
	strong = [4][4]string{
		{"o", "on", "om", "os"},
		{"a", "an", "e", "as"},
		{"i", "i", "im", "is"},
		{"e", "es", "en", "er"},
	}
	verbEndings   = [...]string{"u", "est", "om", "on", "et"} // by agreement
	pluralEndings = []string{"ar", "il", "et"}
	linkers       = []string{"", "s", "o"}
)

// reserved are the forms that no coined word may take.
func reserved() (source, target []string) {
	source = []string{sourceOf, sourceAsk}
	target = []string{not.target, that.target}
	for _, word := range slices.Concat(owners, []translated{the.translated, this.translated, a.translated, who}) {
		source = append(source, word.source)
		for _, ending := range slices.Concat(strong[0][:], strong[1][:], strong[2][:], strong[3][:]) {
			target = append(target, word.target+ending)
		}
	}
	for _, word := range pronouns {
		source, target = append(source, word.source), append(target, word.target)
	}
	for _, ending := range verbEndings {
		target = append(target, will.target+ending)
	}
	return append(source, not.source, will.source, that.source), target
}

// lexicon holds the words of the pair of languages.
type lexicon struct {
	nouns        [kinds]ranked[*noun]
	verbs        [frames]ranked[*verb]
	adjectives   ranked[*adjective]
	adverbs      ranked[translated]
	names        ranked[string]
	numerals     []translated
	where        ranked[translated] // prepositions of place
	with         ranked[translated] // prepositions of a tool
	conjunctions []translated
}

const (
	nounOffset  = 3 // of Zipf's law: the smaller, the more frequent the first word
	otherOffset = 2 // for word classes that are smaller

	placeHomograph = 9 // every ninth place shares its source word with a thing,
	verbHomograph  = 4 // and every fourth verb for persons its own with one for things
	homographShift = 3 // ranks between two senses, so that both are in use

	nameRank = 12 // names are as long as words of this rank
)

var (
	nounCount = [kinds]int{person: 160, thing: 360, place: 110}
	verbCount = [frames]int{rests: 50, moves: 40, treats: 60, handles: 90, says: 15}
)

// coiners make the words of both languages.
type coiners struct {
	rng            *rand.Rand
	source, target *coiner
}

// word coins a word of a rank.
func (c coiners) word(rank int) translated {
	return translated{c.source.stem(rank), c.target.stem(rank)}
}

func newLexicon(seed uint64) *lexicon {
	rng := newStream(seed, "lexicon")
	source, target := reserved()
	c := coiners{rng, newCoiner(rng, sourceSounds, source), newCoiner(rng, targetSounds, target)}

	l := &lexicon{}
	for k, count := range nounCount {
		l.nouns[k] = newRanked(count, nounOffset, func(rank int) *noun {
			return &noun{c.word(rank), c.rng.IntN(3), pick(rng, pluralEndings), pick(rng, linkers)}
		})
	}
	places, things := l.nouns[place].words, l.nouns[thing].words
	for rank := placeHomograph - 1; rank < len(places); rank += placeHomograph {
		places[rank].source = things[rank+homographShift].source
	}
	var prefixes, particles [5]string
	for i := range prefixes {
		prefixes[i], particles[i] = c.target.stem(0), c.source.stem(0)
	}
	for f, count := range verbCount {
		l.verbs[f] = newRanked(count, otherOffset, c.verbs(prefixes[:], particles[:]))
	}
	handling, treating := l.verbs[handles].words, l.verbs[treats].words
	for rank := verbHomograph - 1; rank < len(treating); rank += verbHomograph {
		from := handling[rank+homographShift]
		treating[rank].source, treating[rank].particle = from.source, from.particle
	}
	l.adjectives = newRanked(170, otherOffset, func(rank int) *adjective {
		return &adjective{c.word(rank), percent(rng, 25)}
	})
	l.adverbs = newRanked(40, otherOffset, c.word)
	l.where = newRanked(9, otherOffset, c.word)
	l.with = newRanked(4, otherOffset, c.word)
	l.numerals = newRanked(8, otherOffset, c.word).words
	l.conjunctions = newRanked(4, otherOffset, c.word).words
	l.names = newRanked(150, nounOffset, c.name)
	return l
}

// verbs coins the verbs of a frame. A quarter have a separable prefix, and some of these are phrasal in the source: a
// more frequent verb with a particle, which changes its meaning altogether.
func (c coiners) verbs(prefixes, particles []string) func(rank int) *verb {
	var before *verb
	return func(rank int) *verb {
		v := &verb{translated: c.word(rank)}
		v.past = v.target
		if percent(c.rng, 20) {
			v.past = c.target.stem(rank)
		}
		if percent(c.rng, 25) {
			i := c.rng.IntN(len(prefixes))
			v.prefix = prefixes[i]
			if before != nil && before.particle == "" && percent(c.rng, 60) {
				v.source, v.particle = before.source, particles[i]
			}
		}
		before = v
		return v
	}
}

// name coins a name, which both languages spell alike and use for nothing else.
func (c coiners) name(int) string {
	for {
		if name := c.source.stem(nameRank); !c.target.taken[name] {
			return capital(name)
		}
	}
}
