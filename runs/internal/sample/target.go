package sample

// order is where a target clause has its finite verb.
type order int

const (
	verbSecond order = iota
	verbFirst        // questions, and main clauses after something fronted
	verbLast         // all other clauses
)

// target says a sentence in the target language.
func (l *lexicon) target(s *sentence) *line {
	out := &line{}
	adverbial := func() {
		out.add(s.conjunction.target, s.id, isConjunction)
		l.targetClause(out, s.adverbial, verbLast)
	}
	main := verbSecond
	if s.question {
		main = verbFirst
	}
	if s.adverbial != nil && s.first {
		adverbial()
		out.comma()
		main = verbFirst
	}
	l.targetClause(out, s.main, main)
	if s.adverbial != nil && !s.first {
		out.comma()
		adverbial()
	}
	out.finish(s.question)
	return out
}

func (l *lexicon) targetClause(out *line, c *clause, o order) {
	if c.adverb != nil && c.fronted && o == verbSecond {
		out.add(c.adverb.target, c.id, isAdverb)
		o = verbFirst
	}
	if o == verbFirst {
		c.finite(out, o)
	}
	if c.gap != subjectGap {
		l.targetPhrase(out, c.subject, nominative)
	}
	if o == verbSecond {
		c.finite(out, o)
	}
	if c.adverb != nil && !(c.fronted && o == verbFirst) {
		out.add(c.adverb.target, c.id, isAdverb)
	}
	if c.where != nil {
		// Whither takes the accusative, where the dative: the verb decides.
		toward := dative
		if c.frame == moves {
			toward = accusative
		}
		out.add(c.where.preposition.target, c.where.id, isPreposition)
		l.targetPhrase(out, c.where.phrase, toward)
	}
	if c.tool != nil {
		out.add(c.tool.preposition.target, c.tool.id, isPreposition)
		l.targetPhrase(out, c.tool.phrase, dative)
	}
	if c.object != nil && c.gap != objectGap {
		l.targetPhrase(out, c.object, accusative)
	}
	if c.negated {
		out.add(targetNot, c.id, isNegation)
	}
	c.last(out, o)
	if c.said != nil {
		out.comma()
		out.add(targetThat, c.id, isThat)
		l.targetClause(out, c.said, verbLast)
	}
}

// finite writes the verb form that agrees with the subject, where it stands in
// front; its prefix and its infinitive are left for the end.
func (c *clause) finite(out *line, o order) {
	who := c.subject.number3()
	if c.tense == future {
		out.add(targetWill+verbEndings[who], c.id, isFuture)
		return
	}
	text := c.verb.form(c.tense, who)
	if o == verbLast {
		text = c.verb.prefix + text
	}
	out.add(text, c.id, isVerb)
}

// last writes what closes the clause.
func (c *clause) last(out *line, o order) {
	if c.tense == future {
		out.add(c.verb.prefix+c.verb.target+infinitive, c.id, isVerb)
	} else if c.verb.prefix != "" && o != verbLast {
		out.add(c.verb.prefix, c.id, isParticle)
	}
	if o == verbLast {
		c.finite(out, o)
	}
}

func (p *phrase) number3() number3 {
	switch {
	case p.noun == nil && p.name == "":
		return number3(p.pronoun)
	case p.plural:
		return thirdPlural
	}
	return thirdSingular
}

// row is the phrase's row in the table of strong endings.
func (p *phrase) row() int {
	if p.plural {
		return len(strong) - 1
	}
	return int(p.noun.gender)
}

func (l *lexicon) targetPhrase(out *line, p *phrase, c grammaticalCase) {
	if p.noun == nil {
		text := p.name
		if text == "" {
			text = targetPronouns[p.pronoun]
		}
		out.add(text, p.id, isNoun)
		return
	}
	ending := strong[p.row()][c]
	if text := l.targetDeterminer(p, ending); text != "" {
		out.add(text, p.id, isDeterminer)
	}
	if p.determiner == definite || p.determiner == this {
		ending = weakEnding(p.plural, c)
	}
	adjectives := func(after bool) {
		for i, a := range p.adjectives {
			if a.after == after {
				out.add(a.target+ending, p.id, isAdjective+role(i))
			}
		}
	}
	adjectives(false)
	head := p.noun.form(p.plural, c)
	if p.modifier != nil {
		head = p.modifier.target + p.modifier.linker + head
	}
	out.add(head, p.id, isNoun)
	adjectives(true)
	if p.owner != nil {
		l.targetPhrase(out, p.owner, genitive)
	}
	if p.relative != nil {
		out.comma()
		within := nominative
		if p.relative.gap == objectGap {
			within = accusative
		}
		out.add(targetWho+strong[p.row()][within], p.id, isRelative)
		l.targetClause(out, p.relative, verbLast)
		out.comma()
	}
}

func (l *lexicon) targetDeterminer(p *phrase, ending string) string {
	switch p.determiner {
	case definite:
		return targetThe + ending
	case this:
		return targetThis + ending
	case owned:
		return targetOwners[p.which] + ending
	case numeral:
		return l.numerals[p.which].target
	case digits:
		return p.number
	}
	if p.plural {
		return ""
	}
	return targetA + ending
}
