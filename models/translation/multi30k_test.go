package translation_test

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/align"
)

// openMulti30k opens the lower-casing run of Multi30k that APERTURE_MULTI30K_RUN names.
func openMulti30k(t *testing.T) *translation.Translator {
	folder := os.Getenv("APERTURE_MULTI30K_RUN")
	if folder == "" {
		t.Skip("APERTURE_MULTI30K_RUN names no folder of a run of runs/multi30k")
	}
	return open(t, folder)
}

func readLines(t *testing.T, name string) []string {
	t.Helper()
	data, err := os.ReadFile(fixtures.Path(t, "multi30k/"+name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// longWords are the words of a line that have three letters or more, abbreviations with a full stop left out.
func longWords(line string) (out []string) {
	for _, word := range strings.Fields(line) {
		if word = strings.Trim(word, `.,"!?`); utf8.RuneCountInString(word) > 2 && !strings.Contains(word, ".") {
			out = append(out, word)
		}
	}
	return out
}

// TestThreeTermsALine: on 1,000 lines every one of three terms is met, three words of the line that become any words of
// the test's references, or of the line's own, and it takes at most three times as long as plain search.
func TestThreeTermsALine(t *testing.T) {
	made := openMulti30k(t)
	source, reference := readLines(t, "test_2016_flickr.en"), readLines(t, "test_2016_flickr.de")
	o := made.Settings.Decode
	o.Beam = 5
	begin := time.Now()
	request(t, made, o, asRequests(source)...)
	plain := time.Since(begin)
	any := longWords(strings.Join(reference, " "))
	for _, own := range []bool{false, true} {
		r := rand.New(rand.NewPCG(1, 2))
		requests, wanted := asRequests(source), make([][]string, len(source))
		for i := range requests {
			words, from := longWords(source[i]), any
			if own {
				from = longWords(reference[i])
			}
			var pairs []string
			for range 3 {
				target := from[r.IntN(len(from))]
				pairs = append(pairs, words[r.IntN(len(words))], target)
				wanted[i] = append(wanted[i], tokenize.Lowercase(target))
			}
			requests[i].Terms = glossary(t, made, pairs...)
		}
		begin = time.Now()
		out := request(t, made, o, requests...)
		took := time.Since(begin)
		for i, list := range out {
			for _, word := range wanted[i] {
				if tokenize.CountWords(list[0].Text, word) == 0 {
					t.Errorf("%q does not hold %q", list[0].Text, word)
				}
			}
		}
		t.Logf("own words %v: %.1f s, plain search %.1f s, %.2f times", own, took.Seconds(), plain.Seconds(),
			took.Seconds()/plain.Seconds())
		if took > 3*plain {
			t.Errorf("terms take %.2f times as long", took.Seconds()/plain.Seconds())
		}
	}
}

// TestLinksBesideFastAlign: links of raw words beside those of fast_align (package align) in both directions, which has
// learnt from the training text and these translations.
func TestLinksBesideFastAlign(t *testing.T) {
	made := openMulti30k(t)
	source := readLines(t, "test_2016_flickr.en")
	o := made.Settings.Decode
	o.Links = true
	out := request(t, made, o, asRequests(source)...)
	var c align.Corpus
	words := func(line string) []string { return strings.Fields(tokenize.Lowercase(line)) }
	target := readLines(t, "train.de")
	for i, line := range readLines(t, "train.en") {
		c.Add(words(line), words(target[i]))
	}
	first := c.Len()
	for i, list := range out {
		c.Add(words(source[i]), words(list[0].Text))
	}
	backward := align.Recommended()
	backward.Reverse = true
	forward, reverse := align.Align(&c, align.Recommended()), align.Align(&c, backward)
	var both, ours, theirs int
	for i, list := range out {
		known := map[align.Link]bool{}
		for _, l := range align.GrowDiagFinalAnd(forward[first+i], reverse[first+i]) {
			known[l] = true
		}
		theirs += len(known)
		for at, word := range list[0].Details.Words {
			for _, from := range word.Source {
				if ours++; known[align.Link{Source: int32(from), Target: int32(at)}] {
					both++
				}
			}
		}
	}
	p, r := float64(both)/float64(ours), float64(both)/float64(theirs)
	t.Logf("precision %.3f, recall %.3f, F1 %.3f of %d links", p, r, 2*p*r/(p+r), theirs)
	if 2*p*r/(p+r) < 0.5 {
		t.Error("the links are not those of words that translate each other")
	}
}
