package decode_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/tokenize"
)

// glued joins a third of all ids to the next, as pieces inside a word are.
func glued(before, after int32) bool { return before%3 == 0 }

// count counts a phrase that stands between words from a place on, occurrences not overlapping: what a search has to
// reach, seen slowly.
func count(ids []int32, from int, phrase []int32, joined func(before, after int32) bool) (n int) {
	for i := from; i+len(phrase) <= len(ids); i++ {
		end := i + len(phrase)
		if slices.Equal(ids[i:end], phrase) && (i == 0 || !joined(ids[i-1], ids[i])) &&
			(end == len(ids) || !joined(ids[end-1], ids[end])) {
			n, i = n+1, end-1
		}
	}
	return n
}

// met reports whether a translation holds what its constraint says.
func met(ids []int32, c decode.Constraint, joined func(before, after int32) bool) bool {
	if len(ids) < len(c.Prefix) || !slices.Equal(ids[:len(c.Prefix)], c.Prefix) {
		return false
	}
	for _, phrase := range c.Phrases {
		want := 0
		for _, other := range c.Phrases {
			if slices.Equal(phrase, other) {
				want++
			}
		}
		if count(ids, len(c.Prefix), phrase, joined) < want {
			return false
		}
	}
	return true
}

// demands draws constraints: none for every fourth source, a prefix for some, phrases of one to three words that end
// with the end of a word, some twice.
func demands(f *fixture, sources int, seed uint64) decode.Constraints {
	r := rand.New(rand.NewPCG(seed, 1))
	words := int(f.output.Size(0))
	draw := func(n int) (ids []int32) {
		for range n {
			ids = append(ids, int32(4+r.IntN(words-4)))
		}
		for ids[n-1]%3 == 0 {
			ids[n-1] = int32(4 + r.IntN(words-4))
		}
		return ids
	}
	c := decode.Constraints{Of: make([]decode.Constraint, sources), Joined: glued, Close: 4}
	for i := range c.Of {
		if i%4 == 3 {
			continue
		}
		if i%3 == 0 {
			c.Of[i].Prefix = draw(1 + r.IntN(3))
		}
		for range r.IntN(4) {
			c.Of[i].Phrases = append(c.Of[i].Phrases, draw(1+r.IntN(3)))
		}
		if i%5 == 0 && len(c.Of[i].Phrases) > 0 {
			c.Of[i].Phrases = append(c.Of[i].Phrases, c.Of[i].Phrases[0])
		}
	}
	return c
}

func constrained(t *testing.T, f *fixture, s [][]int32, c decode.Constraints, o decode.Options) [][]decode.Hypothesis {
	t.Helper()
	searcher, err := decode.New(f.model, f.scorer(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer searcher.Free()
	out, err := searcher.SearchConstrained(context.Background(), s, c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestConstraintsAreMet in every translation, whatever the beam, the penalty and the room; scores are those of the
// words, and sources without a constraint have the translations that they have alone.
func TestConstraintsAreMet(t *testing.T) {
	eachModel(t, func(t *testing.T, f *fixture) {
		for seed := range uint64(4) {
			s := sources(f, 12, 6)
			c := demands(f, len(s), seed)
			most := 0
			for _, x := range c.Of {
				most = max(most, x.Words())
			}
			for _, o := range []decode.Options{
				{Beam: 5, NBest: 5, MaxLengthB: most}, // no room but for the constraints
				{Beam: 1, MaxLengthB: most + 1},
				{Beam: 5, NBest: 3, MaxLengthB: most + 6, NoRepeatNgram: 1},
				{Beam: 3, MaxLengthB: most + 6, LengthPenalty: "gnmt", Lenpen: 0.6, MinLength: 4},
				{Beam: 40, NBest: 40, MaxLengthB: most + 4, BatchSentences: 3},
			} {
				base := decode.Defaults()
				base.Beam, base.NBest, base.MaxLengthB, base.NoRepeatNgram, base.MinLength = o.Beam, o.NBest, o.MaxLengthB, o.NoRepeatNgram, o.MinLength
				if o.LengthPenalty != "" {
					base.LengthPenalty, base.Lenpen = o.LengthPenalty, o.Lenpen
				}
				if o.BatchSentences > 0 {
					base.BatchSentences = o.BatchSentences
				}
				alone := must(t, f.model, f.scorer(), s, base)
				for i, list := range constrained(t, f, s, c, base) {
					if len(s[i]) == 0 {
						continue
					}
					if len(c.Of[i].Prefix)+len(c.Of[i].Phrases) == 0 {
						same(t, fmt.Sprintf("%+v, source %d", o, i), [][]decode.Hypothesis{list}, alone[i:i+1])
						continue
					}
					for _, h := range list {
						if !met(h.IDs, c.Of[i], glued) || len(h.IDs) > o.MaxLengthB {
							t.Fatalf("%+v, seed %d, source %d: %v does not hold %v", o, seed, i, h.IDs, c.Of[i])
						}
						got, err := decode.Score(t.Context(), f.model, f.scorer().NLL, s[i:i+1], [][]int32{h.IDs},
							f.model.MaxPositions, base)
						if err != nil || math.Abs(got[0].LogProb-h.LogProb) > 1e-4 {
							t.Fatalf("source %d: %v has the log-probability %v, in the search %v (%v)", i, h.IDs, got[0].LogProb, h.LogProb, err)
						}
					}
				}
			}
		}
	})
}

// TestPhrasesShareNoWords: a phrase that begins with the end of another stands there with words of its own.
func TestPhrasesShareNoWords(t *testing.T) {
	eachModel(t, func(t *testing.T, f *fixture) {
		a, b := []int32{4, 5, 7}, []int32{7, 8, 4}
		s := sources(f, 6, 6)
		c := decode.Constraints{Of: slices.Repeat([]decode.Constraint{{Phrases: [][]int32{a, b}}}, len(s)), Joined: glued}
		o := decode.Defaults()
		o.MaxLengthA, o.MaxLengthB, o.NBest = 0, 7, 5
		for i, list := range constrained(t, f, s, c, o) {
			for _, h := range list {
				if len(s[i]) == 0 {
					continue
				}
				apart := false
				for i := range len(h.IDs) - 2 {
					for j := range len(h.IDs) - 2 {
						apart = apart || max(i-j, j-i) >= 3 && slices.Equal(h.IDs[i:i+3], a) && slices.Equal(h.IDs[j:j+3], b)
					}
				}
				if !apart {
					t.Errorf("source %d: %v does not hold %v and %v beside each other", i, h.IDs, a, b)
				}
			}
		}
	})
}

// TestConstrainedIsExhaustive: with a beam that drops nothing a search finds the best of all translations that hold a
// phrase, of those of up to two words.
func TestConstrainedIsExhaustive(t *testing.T) {
	eachModel(t, func(t *testing.T, f *fixture) {
		o := decode.Defaults()
		o.Beam, o.MaxLengthB = 1000, 2
		source := sources(f, 12, 6)[0]
		words := int32(f.output.Size(0))
		var all [][]int32
		for a := int32(0); a < words; a++ {
			if a != tokenize.Pad && a != tokenize.EOS {
				all = append(all, []int32{a})
				for b := int32(0); b < words; b++ {
					if b != tokenize.Pad && b != tokenize.EOS {
						all = append(all, []int32{a, b})
					}
				}
			}
		}
		scores, err := decode.Score(t.Context(), f.model, f.scorer().NLL, slices.Repeat([][]int32{source}, len(all)),
			all, f.model.MaxPositions, o)
		if err != nil {
			t.Fatal(err)
		}
		for id := int32(4); id < words; id++ {
			c := decode.Constraint{Phrases: [][]int32{{id}}}
			best, score := []int32(nil), math.Inf(-1)
			for i, ids := range all {
				if x := scores[i].LogProb / float64(len(ids)+1); x > score && met(ids, c, glued) && glued(id, 0) == false {
					best, score = ids, x
				}
			}
			if best == nil {
				continue
			}
			got := constrained(t, f, [][]int32{source}, decode.Constraints{Of: []decode.Constraint{c}, Joined: glued, Close: 4}, o)[0][0]
			if math.Abs(got.Score-score) > 1e-5 {
				t.Errorf("with %d: %v (%v), the best is %v (%v)", id, got.IDs, got.Score, best, score)
			}
		}
	})
}

// TestImpossibleConstraints have sentences.
func TestImpossibleConstraints(t *testing.T) {
	eachModel(t, func(t *testing.T, f *fixture) {
		o := small()
		o.MaxLengthA, o.MaxLengthB = 0, 3
		searcher, err := decode.New(f.model, f.scorer(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer searcher.Free()
		for part, c := range map[string][]decode.Constraint{
			"0 constraints for 1 sources": nil,
			"has no words":                {{Phrases: [][]int32{{}}}},
			"no words":                    {{Prefix: []int32{tokenize.Pad}}},
			"have 4 symbols":              {{Prefix: []int32{5, 6}, Phrases: [][]int32{{7, 8}}}},
		} {
			_, err := searcher.SearchConstrained(context.Background(), [][]int32{{4}}, decode.Constraints{Of: c})
			wantError(t, err, part)
		}
	})
}

// TestAttend: reading translations again gives the attention that the search saw.
func TestAttend(t *testing.T) {
	eachModel(t, func(t *testing.T, f *fixture) {
		o := small()
		o.Alignment = true
		searcher, err := decode.New(f.model, f.scorer(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer searcher.Free()
		s := sources(f, 8, 6)
		found := must(t, f.model, f.scorer(), s, o)
		targets := make([][]int32, len(s))
		for i := range s {
			targets[i] = found[i][0].IDs
		}
		seen, err := searcher.Attend(context.Background(), s, targets)
		if err != nil {
			t.Fatal(err)
		}
		for i, list := range found {
			for j, at := range list[0].Alignment {
				if row := seen[i].Row(j); row[at] < slices.Max(row)-1e-6 {
					t.Fatalf("word %d of source %d attends to %v, in the search most to %d", j, i, row, at)
				}
			}
		}
	})
}
