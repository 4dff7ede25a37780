package sample

import (
	"cmp"
	"slices"
	"strings"
)

// grammaticalCase is the case of a phrase in the target language, a column of the table of endings.
type grammaticalCase int

const (
	nominative grammaticalCase = iota
	accusative
	dative
	genitive
)

// order is where a target clause has its finite verb.
type order int

const (
	verbSecond order = iota
	verbFirst        // questions, and main clauses after something fronted
	verbLast         // all other clauses
)

// join joins parts of a sentence, of which some may be empty.
func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), " ")
}

func when(condition bool, text string) string {
	if condition {
		return text
	}
	return ""
}

// end closes a line. Two commas that meet are one, and none stands at the end.
func (s *sentence) end(parts ...string) string {
	line := strings.TrimSuffix(strings.ReplaceAll(join(parts...), ", ,", ","), " ,")
	if s.question {
		return line + " ?"
	}
	return line + " ."
}

func (s *sentence) source() string {
	main := join(when(s.question, sourceAsk), s.main.source())
	if s.adverbial == nil {
		return s.end(main)
	}
	adverbial := join(s.conjunction.source, s.adverbial.source())
	if s.first {
		return s.end(adverbial, ",", main)
	}
	return s.end(main, adverbial)
}

func (s *sentence) target() string {
	o := verbSecond
	if s.question || s.first {
		o = verbFirst
	}
	main := s.main.target(o)
	if s.adverbial == nil {
		return s.end(main)
	}
	adverbial := join(s.conjunction.target, s.adverbial.target(verbLast))
	if s.first {
		return s.end(adverbial, ",", main)
	}
	return s.end(main, ",", adverbial)
}

func (c *clause) source() string {
	if c == nil {
		return ""
	}
	verb := c.verb.source + when(c.tense == past, sourcePast)
	return join(when(c.fronted, c.adverb.source), c.subject.source(),
		when(c.tense == future, will.source), when(c.negated, not.source), verb, c.verb.particle, c.object.source(),
		c.where.source(), c.tool.source(), when(!c.fronted, c.adverb.source),
		when(c.said != nil, that.source), c.said.source())
}

func (c *clause) target(o order) string {
	if c == nil {
		return ""
	}
	fronted := c.fronted && o == verbSecond
	if fronted {
		o = verbFirst
	}
	toward := dative // where; whither takes the accusative
	if c.frame == moves {
		toward = accusative
	}
	finite, end := c.predicate(o)
	return join(when(fronted, c.adverb.target), when(o == verbFirst, finite), c.subject.target(nominative),
		when(o == verbSecond, finite), when(!fronted, c.adverb.target), c.where.target(toward), c.tool.target(dative),
		c.object.target(accusative), when(c.negated, not.target), end, when(o == verbLast, finite),
		when(c.said != nil, ", "+that.target), c.said.target(verbLast))
}

// predicate is the verb form that agrees with the subject, and what closes the clause: the infinitive of a future, or
// a separable prefix, which a finite verb at the end keeps.
func (c *clause) predicate(o order) (finite, end string) {
	ending := verbEndings[cmp.Or(c.subject, c.about).agrees]
	switch {
	case c.tense == future:
		return will.target + ending, c.verb.prefix + c.verb.target + infinitive
	case c.tense == past:
		finite = c.verb.past + pastMark + ending
	default:
		finite = c.verb.target + ending
	}
	if o == verbLast {
		return c.verb.prefix + finite, ""
	}
	return finite, c.verb.prefix
}

func (p *prepositional) source() string {
	if p == nil {
		return ""
	}
	return join(p.preposition.source, p.phrase.source())
}

func (p *prepositional) target(c grammaticalCase) string {
	if p == nil {
		return ""
	}
	return join(p.preposition.target, p.phrase.target(c))
}

func (p *phrase) source() string {
	if p == nil {
		return ""
	}
	if p.noun == nil {
		return p.alone.source
	}
	parts := []string{when(p.determiner != a || !p.plural, p.determiner.source)}
	for _, x := range p.adjectives {
		parts = append(parts, x.source)
	}
	if p.modifier != nil {
		parts = append(parts, p.modifier.source)
	}
	return join(append(parts, p.noun.source+when(p.plural, sourcePlural), when(p.owner != nil, sourceOf),
		p.owner.source(), when(p.relative != nil, who.source), p.relative.source())...)
}

func (p *phrase) target(c grammaticalCase) string {
	if p == nil {
		return ""
	}
	if p.noun == nil {
		return p.alone.target
	}
	row := p.noun.gender
	if p.plural {
		row = len(strong) - 1
	}
	opening := when(p.determiner != a || !p.plural, p.determiner.target+when(p.determiner.declined, strong[row][c]))
	ending := strong[row][c]
	if p.determiner.weak {
		ending = "u" + when(p.plural || c != nominative, "n")
	}
	var before, after []string
	for _, x := range p.adjectives {
		if x.after {
			after = append(after, x.target+ending)
		} else {
			before = append(before, x.target+ending)
		}
	}
	head := p.noun.form(p.plural, c)
	if p.modifier != nil {
		head = p.modifier.target + p.modifier.linker + head
	}
	relative := ""
	if p.relative != nil {
		within := nominative
		if p.relative.subject != nil {
			within = accusative
		}
		relative = join(",", who.target+strong[row][within], p.relative.target(verbLast), ",")
	}
	return join(opening, join(before...), head, join(after...), p.owner.target(genitive), relative)
}

// form gives a target noun in its case.
func (n *noun) form(plural bool, c grammaticalCase) string {
	switch {
	case plural:
		return n.target + n.plural + when(c == dative, "n")
	case c == genitive && n.gender != feminine:
		return n.target + "es"
	}
	return n.target
}
