package decode

import (
	"fmt"
	"slices"

	"github.com/aperture-ml/aperture/tokenize"
)

// Constraints are what translations must hold (Hokamp and Liu 2017, "Lexically constrained decoding"). A source without
// a prefix and phrases is searched for as without constraints.
type Constraints struct {
	Of []Constraint // by source
	// Joined reports whether two ids side by side belong to one word. A phrase begins and ends between words. Nil stands
	// for a vocabulary of whole words.
	Joined func(before, after int32) bool
	// Close is an id that ends a word: a search takes it where an open word leaves no room for the phrases otherwise.
	Close int32
}

// Constraint is what the translation of a source must hold, in ids.
type Constraint struct {
	Prefix []int32 // its first words
	// Phrases stand behind the prefix, the words of each side by side. One that is listed twice stands there twice. They
	// share no words, but that one within a longer one counts for both.
	Phrases [][]int32
}

// constraint is a Constraint as a search follows it: each phrase once, with its count.
type constraint struct {
	prefix  []int32
	phrases [][]int32
	joined  func(before, after int32) bool
	close   int32
	start   progress
}

// progress is what a hypothesis has of its constraint.
type progress struct {
	missing []int32   // how often each phrase is still to come; never changed in place
	within  []partial // the missing phrases that the last words begin
	// ended are the phrases that the last word completes: they count only if the word ends there, too.
	ended []int32
	// needed are the words that are missing at least, those after `within` completed first.
	needed int
}

// partial is a phrase and how many of its words stand at the end of a hypothesis.
type partial struct{ phrase, words int32 }

func (c Constraints) of(source int) *constraint {
	given := c.Of[source]
	if len(given.Prefix) == 0 && len(given.Phrases) == 0 {
		return nil
	}
	out := &constraint{prefix: given.Prefix, joined: c.Joined, close: c.Close}
	if out.joined == nil {
		out.joined = func(before, after int32) bool { return false }
	}
	for _, phrase := range given.Phrases {
		at := slices.IndexFunc(out.phrases, func(p []int32) bool { return slices.Equal(p, phrase) })
		if at < 0 {
			at = len(out.phrases)
			out.phrases, out.start.missing = append(out.phrases, phrase), append(out.start.missing, 0)
		}
		out.start.missing[at]++
	}
	out.start.needed = out.needed(out.start)
	return out
}

// check says what makes no constraints.
func (c Constraints) check(sources int) error {
	if len(c.Of) != sources {
		return fmt.Errorf("%d constraints for %d sources: give one for each, or none at all", len(c.Of), sources)
	}
	for i, given := range c.Of {
		for _, ids := range append([][]int32{given.Prefix}, given.Phrases...) {
			if slices.Contains(ids, tokenize.Pad) || slices.Contains(ids, tokenize.EOS) {
				return fmt.Errorf("a constraint of source %d holds padding or an end of sentence, which are no words", i+1)
			}
		}
		if slices.ContainsFunc(given.Phrases, func(p []int32) bool { return len(p) == 0 }) {
			return fmt.Errorf("a phrase of source %d has no words", i+1)
		}
	}
	return nil
}

// Words are the words that a constraint's translation has at least, where none of its phrases is within another.
func (c Constraint) Words() int {
	n := len(c.Prefix)
	for _, phrase := range c.Phrases {
		n += len(phrase)
	}
	return n
}

// after is the progress once id follows the word last, which is tokenize.EOS at the start.
func (c *constraint) after(p progress, last, id int32) progress {
	next := progress{missing: p.missing}
	change := func(phrase, by int32) {
		next.missing = slices.Clone(next.missing)
		next.missing[phrase] += by
	}
	joined := last != tokenize.EOS && c.joined(last, id)
	if joined {
		for _, phrase := range p.ended { // it was the beginning of a longer word
			change(phrase, 1)
		}
	}
	var reached []partial
	for _, w := range p.within {
		if c.phrases[w.phrase][w.words] == id {
			reached = append(reached, partial{w.phrase, w.words + 1})
		}
	}
	for i, phrase := range c.phrases {
		if !joined && phrase[0] == id {
			reached = append(reached, partial{int32(i), 1})
		}
	}
	longest := int32(0) // of the phrases that end here
	for _, w := range reached {
		if int(w.words) == len(c.phrases[w.phrase]) && next.missing[w.phrase] > 0 && !slices.Contains(next.ended, w.phrase) {
			change(w.phrase, -1)
			next.ended = append(next.ended, w.phrase)
			longest = max(longest, w.words)
		}
	}
	for _, w := range reached { // a phrase overlaps neither itself nor another
		if next.missing[w.phrase] > 0 && int(w.words) < len(c.phrases[w.phrase]) && w.words >= longest &&
			!slices.Contains(next.ended, w.phrase) {
			next.within = append(next.within, w)
		}
	}
	next.needed = c.needed(next)
	return next
}

// needed is progress.needed.
func (c *constraint) needed(p progress) int {
	n, begun := 0, int32(0)
	for i, phrase := range c.phrases {
		n += int(p.missing[i]) * len(phrase)
	}
	for _, w := range p.within {
		begun = max(begun, w.words)
	}
	return n - int(begun)
}

// open reports whether no missing phrase can follow the word last, which has to end before.
func (c *constraint) open(p progress, last int32) bool {
	if p.needed == 0 || len(p.within) > 0 || last == tokenize.EOS {
		return false
	}
	for i, phrase := range c.phrases {
		if p.missing[i] > 0 && !c.joined(last, phrase[0]) {
			return false
		}
	}
	return true
}

// rest are the words that a hypothesis takes at least until all is met, after the word last.
func (c *constraint) rest(p progress, last int32) int {
	if c.open(p, last) {
		return p.needed + 1
	}
	return p.needed
}

// advancing are the ids that bring a hypothesis of `step` words nearer to its constraint, whose last word is `last`.
func (c *constraint) advancing(p progress, step int, last int32) (ids []int32) {
	if step < len(c.prefix) {
		return c.prefix[step : step+1]
	}
	add := func(id int32) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, w := range p.within {
		add(c.phrases[w.phrase][w.words])
	}
	for i, phrase := range c.phrases {
		if p.missing[i] > 0 && (last == tokenize.EOS || !c.joined(last, phrase[0])) {
			add(phrase[0])
		}
	}
	if c.open(p, last) {
		add(c.close)
	}
	return ids
}

// bank is how many words of the constraint a hypothesis has, those of a phrase that it is within included.
func (c *constraint) bank(p progress) int { return c.start.needed - p.needed }
