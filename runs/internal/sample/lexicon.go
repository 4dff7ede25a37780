package sample

import (
	"math/rand/v2"
	"slices"
)

type gender int

const (
	masculine gender = iota
	feminine
	neuter
)

// kind sorts nouns by what can be done with them; a verb or preposition asks
// for one kind, and that is what tells the senses of a homograph apart.
type kind int

const (
	person kind = iota
	thing
	place
	kinds
)

type noun struct {
	source string // stem; the plural adds an ending
	target string // stem
	gender gender
	plural string // the target's plural ending, one of pluralEndings
	linker string // between this noun and the head of a compound
}

type adjective struct {
	source, target string
	after          bool // the target puts it after the noun
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
	source, particle string // a phrasal verb has a particle
	target, past     string // stems of present and past
	prefix           string // separable, or empty
}

// translated is an uninflected word with its translation.
type translated struct{ source, target string }

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

// The source's function words and endings. The target's stand in inflection.go.
const (
	sourceThe, sourceA, sourceThis = "ta", "o", "shi"
	sourceOf, sourceWho, sourceNot = "bi", "wu", "nai"
	sourceWill, sourceAsk          = "sal", "eku"
	sourceThat                     = "keh"
	sourcePlural, sourcePast       = "en", "ota"
)

var (
	sourceOwners   = [...]string{"mai", "yor", "awa", "dey"}
	sourcePronouns = [...]string{"mi", "yu", "wi", "da"}
)

const (
	nounOffset  = 3 // of Zipf's law: the smaller, the more frequent the first word
	otherOffset = 2 // for word classes that are smaller

	placeHomograph = 9 // every so many places share their source word with a thing,
	verbHomograph  = 4 // and so many verbs for persons theirs with one for things
	homographShift = 3 // ranks between two senses, so that both are in use

	nameCount     = 150
	nameRank      = 12 // names are as long as words of this rank
	prefixCount   = 5
	numeralCount  = 8
	conjunctCount = 4
)

var (
	nounCount = [kinds]int{person: 160, thing: 360, place: 110}
	verbCount = [frames]int{rests: 50, moves: 40, treats: 60, handles: 90, says: 15}
)

const adjectiveCount, adverbCount, whereCount, withCount = 170, 40, 9, 4

// coiners make the words of both languages.
type coiners struct {
	rng            *rand.Rand
	source, target *coiner
}

func newLexicon(seed uint64) *lexicon {
	rng := newStream(seed, "lexicon")
	reserved := []string{
		sourceThe, sourceA, sourceThis, sourceOf, sourceWho, sourceNot, sourceWill, sourceAsk, sourceThat,
	}
	reserved = slices.Concat(reserved, sourceOwners[:], sourcePronouns[:])
	c := coiners{rng, newCoiner(rng, sourceSounds, reserved), newCoiner(rng, targetSounds, targetFunctionWords())}

	l := &lexicon{}
	for k, count := range nounCount {
		l.nouns[k] = newRanked(c.nouns(count), nounOffset)
	}
	places, things := l.nouns[place].words, l.nouns[thing].words
	for rank := placeHomograph - 1; rank < len(places); rank += placeHomograph {
		places[rank].source = things[rank+homographShift].source
	}
	prefixes, particles := make([]string, prefixCount), make([]string, prefixCount)
	for i := range prefixes {
		prefixes[i], particles[i] = c.target.stem(0), c.source.stem(0)
	}
	for f, count := range verbCount {
		l.verbs[f] = newRanked(c.verbs(count, prefixes, particles), otherOffset)
	}
	for rank := verbHomograph - 1; rank < len(l.verbs[treats].words); rank += verbHomograph {
		from, to := l.verbs[handles].words[rank+homographShift], l.verbs[treats].words[rank]
		to.source, to.particle = from.source, from.particle
	}
	l.adjectives = newRanked(c.adjectives(adjectiveCount), otherOffset)
	l.adverbs = newRanked(c.uninflected(adverbCount), otherOffset)
	l.where = newRanked(c.uninflected(whereCount), otherOffset)
	l.with = newRanked(c.uninflected(withCount), otherOffset)
	l.numerals = c.uninflected(numeralCount)
	l.conjunctions = c.uninflected(conjunctCount)
	l.names = newRanked(c.names(nameCount), nounOffset)
	return l
}

func (c coiners) nouns(count int) []*noun {
	words := make([]*noun, count)
	for rank := range words {
		words[rank] = &noun{
			source: c.source.stem(rank), target: c.target.stem(rank), gender: gender(c.rng.IntN(3)),
			plural: pick(c.rng, pluralEndings[:]), linker: pick(c.rng, linkers[:]),
		}
	}
	return words
}

// verbs coins the verbs of a frame. A quarter have a separable prefix, and some
// of these are phrasal in the source: a more frequent verb with a particle,
// which changes its meaning altogether.
func (c coiners) verbs(count int, prefixes, particles []string) []*verb {
	words := make([]*verb, count)
	for rank := range words {
		v := &verb{source: c.source.stem(rank), target: c.target.stem(rank)}
		v.past = v.target
		if percent(c.rng, 20) {
			v.past = c.target.stem(rank)
		}
		if percent(c.rng, 25) {
			i := c.rng.IntN(len(prefixes))
			v.prefix = prefixes[i]
			if rank > 0 && words[rank-1].particle == "" && percent(c.rng, 60) {
				v.source, v.particle = words[rank-1].source, particles[i]
			}
		}
		words[rank] = v
	}
	return words
}

func (c coiners) adjectives(count int) []*adjective {
	words := make([]*adjective, count)
	for rank := range words {
		words[rank] = &adjective{c.source.stem(rank), c.target.stem(rank), percent(c.rng, 25)}
	}
	return words
}

func (c coiners) uninflected(count int) []translated {
	words := make([]translated, count)
	for rank := range words {
		words[rank] = translated{c.source.stem(rank), c.target.stem(rank)}
	}
	return words
}

// names coins names, which both languages spell alike and use for nothing else.
func (c coiners) names(count int) []string {
	names := make([]string, 0, count)
	for len(names) < count {
		if name := c.source.stem(nameRank); !c.target.taken[name] {
			names = append(names, capital(name))
		}
	}
	return names
}
