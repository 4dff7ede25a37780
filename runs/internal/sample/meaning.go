package sample

import (
	"math/rand/v2"
	"strconv"
)

type determiner int

const (
	none determiner = iota
	definite
	indefinite
	this
	owned   // my, your, our, their
	numeral // a number in words
	digits  // a number in digits, the same in both languages
)

// phrase is a noun phrase, or a pronoun or name in its place.
type phrase struct {
	id         int
	pronoun    int    // index of a pronoun, or -1
	name       string // or empty
	determiner determiner
	which      int // owner or numeral
	number     string
	plural     bool
	adjectives []*adjective
	modifier   *noun // first part of a compound, or nil
	noun       *noun
	owner      *phrase
	relative   *clause
}

// gap says which part of a relative clause is the noun that it describes.
type gap int

const (
	noGap gap = iota
	subjectGap
	objectGap
)

type clause struct {
	id              int
	gap             gap
	subject, object *phrase // object may be nil
	verb            *verb
	frame           frame
	tense           tense
	negated         bool
	where           *prepositional
	tool            *prepositional
	adverb          *translated
	fronted         bool // the adverb opens the clause
	said            *clause
}

type prepositional struct {
	id          int
	preposition translated
	phrase      *phrase
}

// sentence is a main clause, perhaps with an adverbial clause before or after.
type sentence struct {
	main        *clause
	question    bool
	adverbial   *clause
	conjunction translated
	first       bool // the adverbial clause comes first
	id          int
}

// speaker draws meanings.
type speaker struct {
	*lexicon
	rng  *rand.Rand
	next int // id of the next node
}

func (s *speaker) id() int {
	s.next++
	return s.next
}

func (s *speaker) sentence() *sentence {
	s.next = 0
	out := &sentence{id: s.id()}
	if percent(s.rng, 14) {
		out.conjunction = pick(s.rng, s.conjunctions)
		out.first = percent(s.rng, 40)
		out.adverbial = s.clause(true)
		out.main = s.clause(true)
		out.main.fronted = false
		return out
	}
	out.main = s.clause(false)
	if out.question = percent(s.rng, 10); out.question {
		out.main.fronted = false
	}
	return out
}

// clause draws a clause; a brief one has no clause inside it.
func (s *speaker) clause(brief bool) *clause {
	c := &clause{id: s.id(), frame: s.frame(brief)}
	c.verb = s.verbs[c.frame].draw(s.rng)
	c.subject = s.subject(c.frame, !brief)
	// One description a sentence keeps it at a length that is quick to learn.
	s.predicate(c, brief || c.subject.relative != nil)
	return c
}

// subject draws a pronoun, a person or, where the verb allows it, a thing.
func (s *speaker) subject(f frame, mayDescribe bool) *phrase {
	if percent(s.rng, 20) {
		return &phrase{id: s.id(), pronoun: s.rng.IntN(len(sourcePronouns))}
	}
	if (f == rests || f == moves) && percent(s.rng, 25) {
		return s.phrase(thing, mayDescribe)
	}
	return s.phrase(person, mayDescribe)
}

func (s *speaker) frame(brief bool) frame {
	switch n := s.rng.IntN(100); {
	case n < 20:
		return rests
	case n < 38:
		return moves
	case n < 60:
		return treats
	case n < 92 || brief:
		return handles
	}
	return says
}

// predicate draws all but the subject.
func (s *speaker) predicate(c *clause, brief bool) {
	c.tense = pick(s.rng, []tense{present, present, past, past, future})
	c.negated = percent(s.rng, 12)
	switch c.frame {
	case treats:
		c.object = s.phrase(person, !brief && percent(s.rng, 50))
	case handles:
		c.object = s.phrase(thing, !brief && percent(s.rng, 50))
	case says:
		c.said = s.clause(true)
		c.said.fronted = false
		return
	}
	if c.object != nil && c.object.relative != nil {
		return
	}
	if c.frame == moves || percent(s.rng, 25) {
		c.where = &prepositional{s.id(), s.lexicon.where.draw(s.rng), s.phrase(place, false)}
	} else if c.frame == handles && percent(s.rng, 25) {
		c.tool = &prepositional{s.id(), s.with.draw(s.rng), s.phrase(thing, false)}
	}
	if percent(s.rng, 35) {
		adverb := s.adverbs.draw(s.rng)
		c.adverb, c.fronted = &adverb, percent(s.rng, 40)
	}
}

// phrase draws a noun phrase or a name. Only a phrase that may be described has
// an owner or a relative clause.
func (s *speaker) phrase(k kind, mayDescribe bool) *phrase {
	p := &phrase{id: s.id(), pronoun: -1}
	if k == person && percent(s.rng, 8) {
		p.name = s.names.draw(s.rng)
		return p
	}
	p.noun = s.nouns[k].draw(s.rng)
	p.plural = percent(s.rng, 30)
	s.determine(p)
	if percent(s.rng, 40) {
		first, second := s.adjectives.draw(s.rng), s.adjectives.draw(s.rng)
		p.adjectives = append(p.adjectives, first)
		if percent(s.rng, 15) && second != first {
			p.adjectives = append(p.adjectives, second)
		}
	}
	if k != person && percent(s.rng, 14) {
		p.modifier = s.nouns[thing].draw(s.rng)
	}
	switch {
	case !mayDescribe:
	case percent(s.rng, 8):
		p.owner = s.phrase(person, false)
	case percent(s.rng, 14):
		p.relative = s.relative(p, k)
	}
	return p
}

func (s *speaker) determine(p *phrase) {
	switch n := s.rng.IntN(100); {
	case n < 50:
		p.determiner = definite
	case n < 72:
		p.determiner = indefinite
	case n < 82:
		p.determiner = this
	case n < 92:
		p.determiner, p.which = owned, s.rng.IntN(len(sourceOwners))
	case n < 98:
		p.determiner, p.which, p.plural = numeral, s.rng.IntN(len(s.numerals)), true
	default:
		p.determiner, p.number, p.plural = digits, strconv.Itoa(10+s.rng.IntN(90)), true
	}
}

// relative draws a clause about the phrase, as its subject or its object.
func (s *speaker) relative(about *phrase, k kind) *clause {
	c := &clause{id: s.id(), gap: subjectGap, subject: about, tense: pick(s.rng, []tense{present, past})}
	if percent(s.rng, 40) {
		c.gap, c.object, c.subject = objectGap, about, s.phrase(person, false)
		c.frame = treats
		if k == thing {
			c.frame = handles
		}
		c.verb = s.verbs[c.frame].draw(s.rng)
		return c
	}
	c.frame = pick(s.rng, []frame{rests, treats, handles})
	if k != person {
		c.frame = rests
	}
	c.verb = s.verbs[c.frame].draw(s.rng)
	switch c.frame {
	case treats:
		c.object = s.phrase(person, false)
	case handles:
		c.object = s.phrase(thing, false)
	case rests:
		c.where = &prepositional{s.id(), s.lexicon.where.draw(s.rng), s.phrase(place, false)}
	}
	return c
}
