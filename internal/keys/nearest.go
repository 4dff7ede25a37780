package keys

import (
	"math"
	"slices"
	"strings"
)

// Nearest returns the candidate that name was most likely to be: the one with the fewest edits, unless name shortens
// another, as lr does learning_rate, or has its words. A key in the wrong section is nearer than its spelling alone
// would say: last parts are compared as well, and of two equally near ones that in the section of name goes first.
func Nearest(name string, candidates []string) string {
	section, last := part(name)
	best, bestDistance := "", math.MaxInt
	for _, candidate := range candidates {
		itsSection, itsLast := part(candidate)
		distance := 2 * editDistance(last, itsLast)
		if shortens(last, itsLast) || strings.Contains(last, "_") && shortens(itsLast, last) {
			distance = min(distance, 1)
		}
		if within(last, itsLast) {
			distance = min(distance, 3)
		}
		if more, yes := wordsWithin(last, itsLast); yes {
			distance = min(distance, 2+more)
		}
		if section != itsSection {
			distance = min(distance+1, 2*editDistance(name, candidate))
		}
		if distance < bestDistance {
			best, bestDistance = candidate, distance
		}
	}
	return best
}

// part splits the section from the name within it.
func part(name string) (section, last string) {
	dot := strings.LastIndexByte(name, '.')
	return name[:max(dot, 0)], name[dot+1:]
}

// shortens says whether short is made of the beginnings of all words of long, in their order: lr of learning_rate,
// max_tok of max_tokens. Of a single word it takes three letters.
func shortens(short, long string) bool {
	words := strings.Split(long, "_")
	short = strings.ReplaceAll(short, "_", "")
	return (len(words) > 1 || len(short) > 2) && beginnings(short, words)
}

func beginnings(short string, words []string) bool {
	if len(words) == 0 {
		return short == ""
	}
	for n := 1; n <= min(len(short), len(words[0])) && short[n-1] == words[0][n-1]; n++ {
		if beginnings(short[n:], words[1:]) {
			return true
		}
	}
	return false
}

// within says whether short has the letters of long in their order, from the first on: src of source.
func within(short, long string) bool {
	if len(short) < 2 || !strings.HasPrefix(long, short[:1]) {
		return false
	}
	for i := range len(long) {
		if short != "" && short[0] == long[i] {
			short = short[1:]
		}
	}
	return short == ""
}

// wordsWithin says whether all words of one name are words of the other, and how many more that has; another first
// word, which has the name's meaning, counts as more.
func wordsWithin(a, b string) (more int, yes bool) {
	few, many := strings.Split(a, "_"), strings.Split(b, "_")
	if len(few) > len(many) {
		few, many = many, few
	}
	for _, word := range few {
		if !slices.Contains(many, word) {
			return 0, false
		}
	}
	more = len(many) - len(few)
	if few[0] != many[0] {
		more += 2
	}
	return more, true
}

// editDistance counts the insertions, deletions and substitutions of bytes that turn a into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		replaced := row[0] // the distance if b[j] replaces a[i]
		row[0] = i + 1
		for j := range len(b) {
			if a[i] != b[j] {
				replaced++
			}
			replaced, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, replaced)
		}
	}
	return row[len(b)]
}
