package main

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// The artificial corpus of suite load. Words are made of syllables. Nine of ten are drawn by Zipf's law from the most
// frequent, the tenth by the same law from all others, which gives the share of rare words that text has. A sentence
// has 12 on average, besides numbers and marks, and its translation has the same words of another language, two of
// them swapped. It means nothing: it has the sizes of a text, for programs that must read all of it.
const (
	loadTypes  = 1_000_000 // words of a language that can be drawn
	loadCommon = 10_000    // the most frequent of them
	loadMean   = 12        // words of a sentence
	loadLimit  = 80
	loadSource = "en"
	loadTarget = "de"
)

// loadText is the folder of the corpus, below the user's cache, where it is made once.
func loadText(pairs int) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place for the text of -what load: %w: set XDG_CACHE_HOME to a folder", err)
	}
	folder := filepath.Join(cache, "aperture", "bench", fmt.Sprintf("load-%d", pairs))
	if isFolder(folder) {
		return folder, nil
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o777); err != nil {
		return "", err
	}
	made, err := os.MkdirTemp(filepath.Dir(folder), "making-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(made)
	if err := writeLoadText(made, pairs); err != nil {
		return "", err
	}
	return folder, os.Rename(made, folder)
}

func writeLoadText(folder string, pairs int) error {
	var out [2]*bufio.Writer
	for i, language := range []string{loadSource, loadTarget} {
		f, err := os.Create(filepath.Join(folder, "train."+language))
		if err != nil {
			return err
		}
		defer f.Close()
		out[i] = bufio.NewWriterSize(f, 1<<20)
	}
	w := writer{random: rand.New(rand.NewPCG(5, 6))}
	for i := range w.frequent {
		for rank := range 1 << 16 {
			w.frequent[i] = append(w.frequent[i], word(i, rank))
		}
	}
	for range pairs {
		ranks := w.ranks()
		for i := range out {
			out[i].Write(w.sentence(i, ranks))
			if i == 0 && len(ranks) > 3 {
				k := w.random.IntN(len(ranks) - 1)
				ranks[k], ranks[k+1] = ranks[k+1], ranks[k]
			}
		}
	}
	for i := range out {
		if err := out[i].Flush(); err != nil {
			return err
		}
	}
	return nil
}

// writer writes sentences in two languages, 0 and 1.
type writer struct {
	random   *rand.Rand
	frequent [2][]string
	line     []byte
	numbers  []int
}

// ranks are the words of a sentence, by their frequency.
func (w *writer) ranks() []int {
	n := min(1+int(-math.Log(1-w.random.Float64())*(loadMean-1)+0.5), loadLimit)
	w.numbers = w.numbers[:0]
	for range n {
		first, last := 1.0, float64(loadCommon)
		if w.random.IntN(10) == 0 {
			first, last = loadCommon, loadTypes
		}
		w.numbers = append(w.numbers, int(first*math.Pow(last/first, w.random.Float64()))-1)
	}
	return w.numbers
}

func (w *writer) sentence(language int, ranks []int) []byte {
	line := w.line[:0]
	for i, rank := range ranks {
		if i > 0 {
			line = append(line, ' ')
		}
		at := len(line)
		if rank < len(w.frequent[language]) {
			line = append(line, w.frequent[language][rank]...)
		} else {
			line = append(line, word(language, rank)...)
		}
		if i == 0 || language == 1 && rank%3 == 0 { // nouns of the second language
			line[at] -= 'a' - 'A'
		}
		switch {
		case rank%97 == 5:
			line = fmt.Appendf(line, " %d,%d", rank%1000, rank%7)
		case rank%53 == 7 && language == 0:
			line = append(line, "'s"...)
		case rank%19 == 3 && i+1 < len(ranks):
			line = append(line, ',')
		}
	}
	line = append(line, ".?!..."[ranks[0]%6], '\n')
	w.line = line
	return line
}

var syllables = [2][2]string{{"tsnrlmkpdbwfhvg", "eaiou"}, {"nrstlkgbmzdfwph", "euaioy"}}

// word makes the word of a rank: frequent ones are short.
func word(language, rank int) string {
	consonants, vowels := syllables[language][0], syllables[language][1]
	var b strings.Builder
	for n := rank; ; n = n/(len(consonants)*len(vowels)) - 1 {
		k := n % (len(consonants) * len(vowels))
		b.WriteByte(consonants[k%len(consonants)])
		b.WriteByte(vowels[k/len(consonants)])
		if n < len(consonants)*len(vowels) {
			break
		}
	}
	if rank%2 == 1 {
		b.WriteByte(consonants[rank%len(consonants)])
	}
	return b.String()
}
