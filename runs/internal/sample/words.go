package sample

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
)

// newStream gives the random stream of one purpose. Streams of different names are independent, so that a longer
// training text leaves the test text alone.
func newStream(seed uint64, name string) *rand.Rand {
	return rand.New(rand.NewChaCha8(sha256.Sum256(fmt.Appendf(nil, "aperture sample %d %s", seed, name))))
}

// percent is true in n of 100 cases.
func percent(rng *rand.Rand, n int) bool { return rng.IntN(100) < n }

// ranked is a word list from frequent to rare, which draws a rank with a probability proportional to 1/(rank+offset):
// the law of Zipf and Mandelbrot with exponent 1. Its weights are integers, so that every machine draws the same.
type ranked[T any] struct {
	words      []T
	cumulative []uint64 // weights
}

func newRanked[T any](n, offset int, coin func(rank int) T) (r ranked[T]) {
	total := uint64(0)
	for rank := range n {
		total += (1 << 32) / uint64(rank+offset)
		r.words, r.cumulative = append(r.words, coin(rank)), append(r.cumulative, total)
	}
	return r
}

func (r ranked[T]) draw(rng *rand.Rand) T {
	at := rng.Uint64N(r.cumulative[len(r.cumulative)-1])
	return r.words[sort.Search(len(r.words), func(i int) bool { return at < r.cumulative[i] })]
}

// sounds are what syllables of one language are made of.
type sounds struct{ onsets, vowels, codas []string }

var (
	sourceSounds = sounds{
		onsets: strings.Fields("b d f g h j k l m n p r s t w y ch sh th kw bl dr gl kr pl sk sl sp tr"),
		vowels: strings.Fields("a e i o u a e i o ee oo ai ou"),
		codas:  append(make([]string, 12), strings.Fields("b d g k l m n p r s t ck ng nd st")...),
	}
	targetSounds = sounds{
		onsets: strings.Fields("b c d f g h l m n p r s t v z br cr dv fl gn gr pr sc st str tv vr zl š ž"),
		vowels: strings.Fields("a e i o u a e i o u ä ö ü ie au"),
		codas:  append(make([]string, 6), strings.Fields("c d f l m n r s t v z ld lt rd rn rs š")...),
	}
)

// coiner makes words of one language that are all different.
type coiner struct {
	rng    *rand.Rand
	sounds sounds
	taken  map[string]bool
}

func newCoiner(rng *rand.Rand, s sounds, reserved []string) *coiner {
	c := &coiner{rng: rng, sounds: s, taken: map[string]bool{}}
	for _, word := range reserved {
		c.taken[word] = true
	}
	return c
}

// stem coins a stem for the word of the given rank: rare words are longer, as in natural languages. A stem ends in a
// consonant, ready for endings.
func (c *coiner) stem(rank int) string {
	syllables := 1
	if rank >= 12 {
		syllables++
	}
	if rank >= 80 && percent(c.rng, 50) {
		syllables++
	}
	for tries := 0; ; tries++ {
		if tries == 50 {
			syllables, tries = syllables+1, 0
		}
		var b strings.Builder
		for range syllables {
			b.WriteString(pick(c.rng, c.sounds.onsets))
			b.WriteString(pick(c.rng, c.sounds.vowels))
		}
		coda := ""
		for coda == "" {
			coda = pick(c.rng, c.sounds.codas)
		}
		if word := b.String() + coda; !c.taken[word] {
			c.taken[word] = true
			return word
		}
	}
}

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }
