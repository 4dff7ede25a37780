package sample

import (
	"math/rand/v2"
	"strconv"
)

// person3 is the person and number that a target verb agrees with, the index of its ending.
type person3 int

const (
	thirdPlural   person3 = 3 // behind I, you and we, in the order of the pronouns
	thirdSingular person3 = 4
)

// phrase is a noun phrase, or a pronoun or name in its place.
type phrase struct {
	alone      translated // a pronoun or name, where noun is nil
	agrees     person3
	determiner determiner
	adjectives []*adjective
	modifier   *noun // first part of a compound, or nil
	noun       *noun
	plural     bool
	owner      *phrase
	relative   *clause
}

type tense int

const (
	present tense = iota
	past
	future
)

type clause struct {
	about           *phrase // of a relative clause: the noun that it describes, which is its subject or object
	subject, object *phrase // nil where there is none
	verb            *verb
	frame           frame
	tense           tense
	negated         bool
	where, tool     *prepositional
	adverb          translated // or empty
	fronted         bool       // the adverb opens the clause
	said            *clause
}

type prepositional struct {
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
}

// speaker draws meanings. Each draw has its place in the random stream: in another order the text is another.
type speaker struct {
	*lexicon
	rng *rand.Rand
}

func (s *speaker) sentence() *sentence {
	out := &sentence{}
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
	c := &clause{frame: s.frame(brief)}
	c.verb = s.verbs[c.frame].draw(s.rng)
	c.subject = s.subject(c.frame, !brief)
	// One description a sentence keeps it at a length that is quick to learn.
	s.predicate(c, brief || c.subject.relative != nil)
	return c
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

// subject draws a pronoun, a person or, where the verb allows it, a thing.
func (s *speaker) subject(f frame, mayDescribe bool) *phrase {
	if percent(s.rng, 20) {
		i := s.rng.IntN(len(pronouns))
		return &phrase{alone: pronouns[i], agrees: person3(i)}
	}
	if (f == rests || f == moves) && percent(s.rng, 25) {
		return s.phrase(thing, mayDescribe)
	}
	return s.phrase(person, mayDescribe)
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
		c.where = s.prepositional(s.where, place)
	} else if c.frame == handles && percent(s.rng, 25) {
		c.tool = s.prepositional(s.with, thing)
	}
	if percent(s.rng, 35) {
		c.adverb, c.fronted = s.adverbs.draw(s.rng), percent(s.rng, 40)
	}
}

func (s *speaker) prepositional(prepositions ranked[translated], k kind) *prepositional {
	return &prepositional{prepositions.draw(s.rng), s.phrase(k, false)}
}

// phrase draws a noun phrase or a name. Only a phrase that may be described has an owner or a relative clause.
func (s *speaker) phrase(k kind, mayDescribe bool) *phrase {
	p := &phrase{agrees: thirdSingular}
	if k == person && percent(s.rng, 8) {
		name := s.names.draw(s.rng)
		p.alone = translated{name, name}
		return p
	}
	p.noun = s.nouns[k].draw(s.rng)
	p.plural = percent(s.rng, 30)
	s.determine(p)
	if p.plural {
		p.agrees = thirdPlural
	}
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

// determine draws the determiner: an article, "this", an owner, a number in words, or one in digits, which both
// languages write alike.
func (s *speaker) determine(p *phrase) {
	switch n := s.rng.IntN(100); {
	case n < 50:
		p.determiner = the
	case n < 72:
		p.determiner = a
	case n < 82:
		p.determiner = this
	case n < 92:
		p.determiner = determiner{translated: pick(s.rng, owners), declined: true}
	case n < 98:
		p.determiner, p.plural = determiner{translated: pick(s.rng, s.numerals)}, true
	default:
		digits := strconv.Itoa(10 + s.rng.IntN(90))
		p.determiner, p.plural = determiner{translated: translated{digits, digits}}, true
	}
}

// relative draws a clause about the phrase, as its subject or its object.
func (s *speaker) relative(about *phrase, k kind) *clause {
	c := &clause{about: about, tense: pick(s.rng, []tense{present, past})}
	if percent(s.rng, 40) {
		c.subject, c.frame = s.phrase(person, false), treats
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
		c.where = s.prepositional(s.where, place)
	}
	return c
}
