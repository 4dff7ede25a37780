package sample

// source says a sentence in the source language.
func (l *lexicon) source(s *sentence) *line {
	out := &line{}
	adverbial := func() {
		out.add(s.conjunction.source, s.id, isConjunction)
		l.sourceClause(out, s.adverbial)
	}
	if s.adverbial != nil && s.first {
		adverbial()
		out.comma()
	}
	if s.question {
		out.add(sourceAsk, s.id, isQuestion)
	}
	l.sourceClause(out, s.main)
	if s.adverbial != nil && !s.first {
		adverbial()
	}
	out.finish(s.question)
	return out
}

func (l *lexicon) sourceClause(out *line, c *clause) {
	if c.adverb != nil && c.fronted {
		out.add(c.adverb.source, c.id, isAdverb)
	}
	if c.gap != subjectGap {
		l.sourcePhrase(out, c.subject)
	}
	if c.tense == future {
		out.add(sourceWill, c.id, isFuture)
	}
	if c.negated {
		out.add(sourceNot, c.id, isNegation)
	}
	verb := c.verb.source
	if c.tense == past {
		verb += sourcePast
	}
	out.add(verb, c.id, isVerb)
	if c.verb.particle != "" {
		out.add(c.verb.particle, c.id, isParticle)
	}
	if c.object != nil && c.gap != objectGap {
		l.sourcePhrase(out, c.object)
	}
	for _, p := range []*prepositional{c.where, c.tool} {
		if p != nil {
			out.add(p.preposition.source, p.id, isPreposition)
			l.sourcePhrase(out, p.phrase)
		}
	}
	if c.adverb != nil && !c.fronted {
		out.add(c.adverb.source, c.id, isAdverb)
	}
	if c.said != nil {
		out.add(sourceThat, c.id, isThat)
		l.sourceClause(out, c.said)
	}
}

func (l *lexicon) sourcePhrase(out *line, p *phrase) {
	if p.noun == nil {
		text := p.name
		if text == "" {
			text = sourcePronouns[p.pronoun]
		}
		out.add(text, p.id, isNoun)
		return
	}
	if text := l.sourceDeterminer(p); text != "" {
		out.add(text, p.id, isDeterminer)
	}
	for i, a := range p.adjectives {
		out.add(a.source, p.id, isAdjective+role(i))
	}
	if p.modifier != nil {
		out.add(p.modifier.source, p.id, isModifier)
	}
	head := p.noun.source
	if p.plural {
		head += sourcePlural
	}
	out.add(head, p.id, isNoun)
	if p.owner != nil {
		out.add(sourceOf, p.id, isOf)
		l.sourcePhrase(out, p.owner)
	}
	if p.relative != nil {
		out.add(sourceWho, p.id, isRelative)
		l.sourceClause(out, p.relative)
	}
}

func (l *lexicon) sourceDeterminer(p *phrase) string {
	switch p.determiner {
	case definite:
		return sourceThe
	case this:
		return sourceThis
	case owned:
		return sourceOwners[p.which]
	case numeral:
		return l.numerals[p.which].source
	case digits:
		return p.number
	}
	if p.plural {
		return ""
	}
	return sourceA
}
