package main

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
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
	random := rand.New(rand.NewPCG(5, 6))
	var ranks []int
	var line []byte
	for range pairs {
		ranks = loadRanks(random, ranks[:0])
		for i := range out {
			line = appendSentence(line[:0], i, ranks)
			out[i].Write(line)
			if i == 0 && len(ranks) > 3 {
				k := random.IntN(len(ranks) - 1)
				ranks[k], ranks[k+1] = ranks[k+1], ranks[k]
			}
		}
	}
	return errors.Join(out[0].Flush(), out[1].Flush())
}

// loadRanks appends the words of a sentence, by their frequency.
func loadRanks(random *rand.Rand, ranks []int) []int {
	n := min(1+int(-math.Log(1-random.Float64())*(loadMean-1)+0.5), loadLimit)
	for range n {
		first, last := 1.0, float64(loadCommon)
		if random.IntN(10) == 0 {
			first, last = loadCommon, loadTypes
		}
		ranks = append(ranks, int(first*math.Pow(last/first, random.Float64()))-1)
	}
	return ranks
}

// appendSentence appends a line in language 0 or 1.
func appendSentence(line []byte, language int, ranks []int) []byte {
	for i, rank := range ranks {
		if i > 0 {
			line = append(line, ' ')
		}
		at := len(line)
		line = appendWord(line, language, rank)
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
	return append(line, ".?!..."[ranks[0]%6], '\n')
}

var syllables = [2][2]string{{"tsnrlmkpdbwfhvg", "eaiou"}, {"nrstlkgbmzdfwph", "euaioy"}}

// appendWord appends the word of a rank: frequent ones are short.
func appendWord(line []byte, language, rank int) []byte {
	consonants, vowels := syllables[language][0], syllables[language][1]
	count := len(consonants) * len(vowels)
	for n := rank; n >= 0; n = n/count - 1 {
		k := n % count
		line = append(line, consonants[k%len(consonants)], vowels[k/len(consonants)])
	}
	if rank%2 == 1 {
		line = append(line, consonants[rank%len(consonants)])
	}
	return line
}
