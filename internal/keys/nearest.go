package keys

import (
	"math"
	"strings"
)

// Nearest returns the candidate with the fewest edits to name. A key in the wrong section is nearer than its spelling
// alone would say: last parts are compared as well.
func Nearest(name string, candidates []string) string {
	last := func(s string) string { return s[strings.LastIndexByte(s, '.')+1:] }
	best, bestDistance := "", math.MaxInt
	for _, candidate := range candidates {
		distance := min(2*editDistance(name, candidate), 2*editDistance(last(name), last(candidate))+1)
		if distance < bestDistance {
			best, bestDistance = candidate, distance
		}
	}
	return best
}

// editDistance counts the insertions, deletions and substitutions of bytes that turn a into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
