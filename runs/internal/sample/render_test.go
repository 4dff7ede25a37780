package sample

import "testing"

// A lexicon small enough to check sentences by eye.
var (
	dog   = &noun{source: "dog", target: "kan", gender: masculine, plural: "ar", linker: "s"}
	queen = &noun{source: "queen", target: "raj", gender: feminine, plural: "il"}
	door  = &noun{source: "door", target: "port", gender: neuter, plural: "et", linker: "o"}
	glass = &noun{source: "glass", target: "vitr", gender: neuter, plural: "et", linker: "o"}
	house = &noun{source: "house", target: "kas", gender: feminine, plural: "il"}

	old = &adjective{"old", "vek", false}
	red = &adjective{"red", "roz", true}

	see    = &verb{source: "see", target: "vid", past: "vid"}
	shut   = &verb{source: "put", particle: "up", target: "klav", past: "klov", prefix: "za"}
	run    = &verb{source: "run", target: "kor", past: "kor"}
	report = &verb{source: "say", target: "dir", past: "dir"}

	often = &translated{"often", "ofte"}
	in    = translated{"in", "na"}
	by    = translated{"by", "per"}
	since = translated{"since", "kar"}
)

// the builds a phrase with the definite determiner.
func the(n *noun, adjectives ...*adjective) *phrase {
	return &phrase{pronoun: -1, determiner: definite, noun: n, adjectives: adjectives}
}

func some(n *noun, adjectives ...*adjective) *phrase {
	p := the(n, adjectives...)
	p.determiner = indefinite
	return p
}

func many(p *phrase) *phrase {
	p.plural = true
	return p
}

func pronoun(i int) *phrase { return &phrase{pronoun: i} }

func compound(modifier *noun, p *phrase) *phrase {
	p.modifier = modifier
	return p
}

func ownedBy(owner, p *phrase) *phrase {
	p.owner = owner
	return p
}

// who adds a relative clause: with the phrase as its subject where object is
// given, else as its object.
func who(p *phrase, v *verb, subject, object *phrase) *phrase {
	p.relative = &clause{gap: subjectGap, subject: p, verb: v, object: object}
	if subject != nil {
		p.relative = &clause{gap: objectGap, subject: subject, verb: v, object: p}
	}
	return p
}

func at(preposition translated, p *phrase) *prepositional {
	return &prepositional{preposition: preposition, phrase: p}
}

func TestRendering(t *testing.T) {
	tests := []struct {
		name           string
		sentence       sentence
		source, target string
	}{
		{
			"subject, verb, object; strong and weak endings",
			sentence{main: &clause{subject: the(dog, old), verb: see, object: some(queen, old)}},
			"Ta old dog see o old queen.", "Lo veku kan videt unan vekan raj.",
		},
		{
			"adjectives behind the noun; dative plural; places first",
			sentence{main: &clause{subject: pronoun(0), verb: see, object: some(door, red), where: at(in, many(some(house, old, red)))}},
			"Mi see o red door in old red houseen.", "Eo vidu na veken kasiln rozen uni port rozi.",
		},
		{
			"past stem, separable prefix, negation",
			sentence{main: &clause{subject: many(the(dog)), verb: shut, tense: past, negated: true, object: the(door), adverb: often}},
			"Ta dogen nai putota up ta door often.", "Le kanar klovivon ofte li port nuo za.",
		},
		{
			"future, fronted adverb, tool",
			sentence{main: &clause{subject: pronoun(2), verb: shut, tense: future, object: the(door), adverb: often, fronted: true, tool: at(by, the(glass))}},
			"Often wi sal put up ta door by ta glass.", "Ofte vorom noi per lim vitr li port zaklavir.",
		},
		{
			"whither with the accusative, where with the dative",
			sentence{main: &clause{subject: pronoun(1), verb: run, frame: moves, where: at(in, the(house))}},
			"Yu run in ta house.", "Tu korest na lan kas.",
		},
		{
			"question",
			sentence{question: true, main: &clause{subject: &phrase{pronoun: -1, name: "Ada"}, verb: shut, object: the(door)}},
			"Eku Ada put up ta door?", "Klavet Ada li port za?",
		},
		{
			"clause that is said: the verb last, its prefix joined",
			sentence{main: &clause{subject: pronoun(3), verb: report, said: &clause{subject: pronoun(0), verb: shut, tense: future, object: the(door)}}},
			"Da say keh mi sal put up ta door.", "Eli diron, daz eo li port zaklavir voru.",
		},
		{
			"relative clauses: case by role, gender by noun",
			sentence{main: &clause{subject: who(the(dog), see, nil, the(queen)), verb: shut, object: who(many(the(door)), see, pronoun(0), nil)}},
			"Ta dog wu see ta queen put up ta dooren wu mi see.",
			"Lo kan, ko lan raj videt, klavet les portet, kes eo vidu, za.",
		},
		{
			"a relative clause at the end has no comma behind it",
			sentence{main: &clause{subject: pronoun(0), verb: see, object: who(the(queen), see, pronoun(1), nil)}},
			"Mi see ta queen wu yu see.", "Eo vidu lan raj, kan tu videst.",
		},
		{
			"genitive and compound: the last part rules",
			sentence{main: &clause{subject: compound(door, ownedBy(the(dog, old), some(glass))), verb: run}},
			"O door glass bi ta old dog run.", "Uni portovitr los vekun kanes koret.",
		},
		{
			"adverbial clause in front",
			sentence{conjunction: since, first: true, adverbial: &clause{subject: pronoun(0), verb: run}, main: &clause{subject: pronoun(3), verb: run, tense: past}},
			"Since mi run, da runota.", "Kar eo koru, korivon eli.",
		},
		{
			"adverbial clause behind",
			sentence{conjunction: since, adverbial: &clause{subject: pronoun(0), verb: shut, object: the(door)}, main: &clause{subject: pronoun(3), verb: run}},
			"Da run since mi put up ta door.", "Eli koron, kar eo li port zaklavu.",
		},
		{
			"digits are copied",
			sentence{main: &clause{subject: &phrase{pronoun: -1, noun: dog, plural: true, determiner: digits, number: "34"}, verb: run}},
			"34 dogen run.", "34 kanar koron.",
		},
	}
	words := &lexicon{}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := words.source(&test.sentence).raw(); got != test.source {
				t.Errorf("source\n got %s\nwant %s", got, test.source)
			}
			if got := words.target(&test.sentence).raw(); got != test.target {
				t.Errorf("target\n got %s\nwant %s", got, test.target)
			}
		})
	}
}

func TestTokensSplitPunctuation(t *testing.T) {
	s := sentence{main: &clause{subject: the(dog), verb: report, said: &clause{subject: pronoun(0), verb: run}}}
	if got, want := (&lexicon{}).target(&s).tokens(), "lo kan diret , daz eo koru ."; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
