package tokenize

import (
	"io"
	"strings"
)

// ReadBPEVocabulary reads the vocabulary of BPEOptions from a file of WordCounts.Write over segmented text: the units
// seen at least threshold times. name stands for the file in errors.
func ReadBPEVocabulary(r io.Reader, name string, threshold int) (map[string]bool, error) {
	units := make(map[string]bool)
	rows := newTableRows(r, name)
	for unit, n := range rows.counts() {
		if n >= threshold {
			units[unit] = true
		}
	}
	return units, rows.Err()
}

// unitSplitter undoes merges that made units which the vocabulary does not have.
type unitSplitter struct {
	merges     map[string]Merge // by what they make
	vocabulary map[string]bool
	separator  string
}

func newUnitSplitter(codes *Codes, vocabulary map[string]bool, separator string) *unitSplitter {
	s := &unitSplitter{
		merges:     make(map[string]Merge, len(codes.Merges)),
		vocabulary: vocabulary,
		separator:  separator,
	}
	// Of two merges that make the same unit the earlier is undone; the last listing of a merge counts.
	listed := make(map[Merge]bool, len(codes.Merges))
	for i := len(codes.Merges) - 1; i >= 0; i-- {
		if m := codes.Merges[i]; !listed[m] {
			listed[m] = true
			s.merges[m.Left+m.Right] = m
		}
	}
	return s
}

// split appends the parts of a unit; final says that it ends a word.
func (s *unitSplitter) split(parts []string, unit string, final bool) []string {
	key, known := unit, unit
	if final {
		key += endOfWord
	} else {
		known += s.separator
	}
	if s.vocabulary[known] {
		return append(parts, unit)
	}
	m, ok := s.merges[key]
	right := m.Right
	if ok && final { // a text may spell out the end-of-word mark, and a merge cut through it: that one made other words
		right, ok = strings.CutSuffix(right, endOfWord)
	}
	if !ok {
		return append(parts, unit)
	}
	parts = s.split(parts, m.Left, false)
	if right == "" { // codes of version 0.1, where the end of a word is a symbol: subword-nmt writes an empty unit
		return parts
	}
	return s.split(parts, right, final)
}
