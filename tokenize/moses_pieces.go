package tokenize

import (
	"cmp"
	"index/suffixarray"
	"slices"
	"strings"
)

// run is plain text, whose piece is negative, or a protected piece by its number.
type run struct {
	text  string
	piece int
}

// maxSpaced is how many pieces of a line are told apart where some of them begin or end with a space, which no usual
// pattern matches: their number times the line's length is the time that they take.
const maxSpaced = 256

// cut takes pieces out of a line, one after the other, each wherever it still occurs. Each gets spaces around it.
func cut(line string, pieces []string) []run {
	if !slices.ContainsFunc(pieces, func(p string) bool { return p[0] == ' ' || p[len(p)-1] == ' ' }) {
		return cutAtOnce(line, pieces)
	}
	return cutInTurn(line, pieces[:min(len(pieces), maxSpaced)])
}

// cutInTurn is the definition of cut. The spaces around a piece are text that later pieces may begin or end with.
func cutInTurn(line string, pieces []string) []run {
	runs := []run{{text: line, piece: -1}}
	gone := map[string]int{} // at how many runs a piece was nowhere
	for index, piece := range pieces {
		has := func(r run) bool { return r.piece < 0 && strings.Contains(r.text, piece) }
		if gone[piece] == len(runs) {
			continue
		}
		if !slices.ContainsFunc(runs, has) {
			gone[piece] = len(runs)
			continue
		}
		var cut []run
		for _, r := range runs {
			if !has(r) {
				cut = append(cut, r)
				continue
			}
			parts := strings.Split(r.text, piece)
			for i, part := range parts {
				if i > 0 {
					cut = append(cut, run{piece: index})
					part = " " + part
				}
				if i+1 < len(parts) {
					part += " "
				}
				cut = append(cut, run{part, -1})
			}
		}
		runs = cut
	}
	return runs
}

// cutAtOnce is cutInTurn for pieces that neither begin nor end with a space, so that where they occur does not depend
// on what was cut before. It needs time that is linear in the line but for what its pieces have in common: a line of n
// bytes holds pieces of at most the square root of 2n different lengths, and each of its bytes begins one of each.
func cutAtOnce(line string, pieces []string) []run {
	type place struct{ start, piece int }
	var places []place
	taken := make([]byte, len(line)) // 1 where a piece is
	occurrences := occurrencesIn(line, len(pieces))
	seen := make(map[string]bool, len(pieces))
	for index, piece := range pieces {
		if seen[piece] {
			continue
		}
		seen[piece] = true
		for _, start := range occurrences(piece) {
			// Of a long piece most places that are taken show at the ends.
			here := taken[start : start+len(piece)]
			if here[0] == 0 && here[len(here)-1] == 0 && !slices.Contains(here, 1) {
				places = append(places, place{start, index})
				for i := range here {
					here[i] = 1
				}
			}
		}
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.start, b.start) })
	var runs []run
	end := 0
	for _, p := range places {
		runs = append(runs, run{line[end:p.start], -1}, run{" ", -1}, run{piece: p.piece}, run{" ", -1})
		end = p.start + len(pieces[p.piece])
	}
	return append(runs, run{line[end:], -1})
}

// occurrencesIn finds all places of a piece in a line, in their order, those that overlap too. It indexes the line
// where many pieces are to be found.
func occurrencesIn(line string, pieces int) func(piece string) []int {
	if pieces > 32 {
		index := suffixarray.New([]byte(line))
		return func(piece string) []int {
			places := index.Lookup([]byte(piece), -1)
			slices.Sort(places)
			return places
		}
	}
	return func(piece string) (places []int) {
		for from := 0; ; {
			at := strings.Index(line[from:], piece)
			if at < 0 {
				return places
			}
			places = append(places, from+at)
			from += at + 1
		}
	}
}
