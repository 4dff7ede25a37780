package sample

import (
	"strings"
	"testing"
)

// A lexicon small enough to check sentences by eye.
var (
	dog   = &noun{translated: translated{"dog", "kan"}, gender: masculine, plural: "ar", linker: "s"}
	queen = &noun{translated: translated{"queen", "raj"}, gender: feminine, plural: "il"}
	door  = &noun{translated: translated{"door", "port"}, gender: neuter, plural: "et", linker: "o"}
	glass = &noun{translated: translated{"glass", "vitr"}, gender: neuter, plural: "et", linker: "o"}
	house = &noun{translated: translated{"house", "kas"}, gender: feminine, plural: "il"}

	old = &adjective{translated{"old", "vek"}, false}
	red = &adjective{translated{"red", "roz"}, true}

	see    = &verb{translated: translated{"see", "vid"}, past: "vid"}
	shut   = &verb{translated: translated{"put", "klav"}, particle: "up", past: "klov", prefix: "za"}
	run    = &verb{translated: translated{"run", "kor"}, past: "kor"}
	report = &verb{translated: translated{"say", "dir"}, past: "dir"}

	often = translated{"often", "ofte"}
	in    = translated{"in", "na"}
	by    = translated{"by", "per"}
	since = translated{"since", "kar"}
)

func some(d determiner, n *noun, adjectives ...*adjective) *phrase {
	return &phrase{agrees: thirdSingular, determiner: d, noun: n, adjectives: adjectives}
}

func many(p *phrase) *phrase {
	p.plural, p.agrees = true, thirdPlural
	return p
}

func pronoun(i int) *phrase { return &phrase{alone: pronouns[i], agrees: person3(i)} }

func compound(modifier *noun, p *phrase) *phrase {
	p.modifier = modifier
	return p
}

func ownedBy(owner, p *phrase) *phrase {
	p.owner = owner
	return p
}

// which adds a relative clause: with the phrase as its subject where object is given, else as its object.
func which(p *phrase, v *verb, subject, object *phrase) *phrase {
	p.relative = &clause{about: p, subject: subject, verb: v, object: object}
	return p
}

func at(preposition translated, p *phrase) *prepositional { return &prepositional{preposition, p} }

func TestRendering(t *testing.T) {
	tests := []struct {
		name           string
		sentence       sentence
		source, target string
	}{
		{
			"subject, verb, object; strong and weak endings",
			sentence{main: &clause{subject: some(the, dog, old), verb: see, object: some(a, queen, old)}},
			"Ta old dog see o old queen.", "Lo veku kan videt unan vekan raj.",
		},
		{
			"adjectives behind the noun; dative plural; places first",
			sentence{main: &clause{subject: pronoun(0), verb: see, object: some(a, door, red),
				where: at(in, many(some(a, house, old, red)))}},
			"Mi see o red door in old red houseen.", "Eo vidu na veken kasiln rozen uni port rozi.",
		},
		{
			"past stem, separable prefix, negation",
			sentence{main: &clause{subject: many(some(the, dog)), verb: shut, tense: past, negated: true,
				object: some(the, door), adverb: often}},
			"Ta dogen nai putota up ta door often.", "Le kanar klovivon ofte li port nuo za.",
		},
		{
			"future, fronted adverb, tool",
			sentence{main: &clause{subject: pronoun(2), verb: shut, tense: future, object: some(the, door),
				adverb: often, fronted: true, tool: at(by, some(the, glass))}},
			"Often wi sal put up ta door by ta glass.", "Ofte vorom noi per lim vitr li port zaklavir.",
		},
		{
			"whither with the accusative, where with the dative",
			sentence{main: &clause{subject: pronoun(1), verb: run, frame: moves, where: at(in, some(the, house))}},
			"Yu run in ta house.", "Tu korest na lan kas.",
		},
		{
			"question",
			sentence{question: true, main: &clause{subject: &phrase{alone: translated{"Ada", "Ada"},
				agrees: thirdSingular}, verb: shut, object: some(the, door)}},
			"Eku Ada put up ta door?", "Klavet Ada li port za?",
		},
		{
			"clause that is said: the verb last, its prefix joined",
			sentence{main: &clause{subject: pronoun(3), verb: report,
				said: &clause{subject: pronoun(0), verb: shut, tense: future, object: some(the, door)}}},
			"Da say keh mi sal put up ta door.", "Eli diron, daz eo li port zaklavir voru.",
		},
		{
			"relative clauses: case by role, gender by noun",
			sentence{main: &clause{subject: which(some(the, dog), see, nil, some(the, queen)), verb: shut,
				object: which(many(some(the, door)), see, pronoun(0), nil)}},
			"Ta dog wu see ta queen put up ta dooren wu mi see.",
			"Lo kan, ko lan raj videt, klavet les portet, kes eo vidu, za.",
		},
		{
			"a relative clause at the end has no comma behind it",
			sentence{main: &clause{subject: pronoun(0), verb: see,
				object: which(some(the, queen), see, pronoun(1), nil)}},
			"Mi see ta queen wu yu see.", "Eo vidu lan raj, kan tu videst.",
		},
		{
			"genitive and compound: the last part rules",
			sentence{main: &clause{subject: compound(door, ownedBy(some(the, dog, old), some(a, glass))), verb: run}},
			"O door glass bi ta old dog run.", "Uni portovitr los vekun kanes koret.",
		},
		{
			"adverbial clause in front",
			sentence{conjunction: since, first: true, adverbial: &clause{subject: pronoun(0), verb: run},
				main: &clause{subject: pronoun(3), verb: run, tense: past}},
			"Since mi run, da runota.", "Kar eo koru, korivon eli.",
		},
		{
			"adverbial clause behind",
			sentence{conjunction: since, adverbial: &clause{subject: pronoun(0), verb: shut, object: some(the, door)},
				main: &clause{subject: pronoun(3), verb: run}},
			"Da run since mi put up ta door.", "Eli koron, kar eo li port zaklavu.",
		},
		{
			"digits are copied",
			sentence{main: &clause{subject: many(some(determiner{translated: translated{"34", "34"}}, dog)),
				verb: run}},
			"34 dogen run.", "34 kanar koron.",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := raw(test.sentence.source()); got != test.source {
				t.Errorf("source\n got %s\nwant %s", got, test.source)
			}
			if got := raw(test.sentence.target()); got != test.target {
				t.Errorf("target\n got %s\nwant %s", got, test.target)
			}
		})
	}
}

func TestTokensSplitPunctuation(t *testing.T) {
	s := sentence{main: &clause{subject: some(the, dog), verb: report, said: &clause{subject: pronoun(0), verb: run}}}
	if got, want := strings.ToLower(s.target()), "lo kan diret , daz eo koru ."; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
