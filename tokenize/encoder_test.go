package tokenize

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An Encoder gives the ids of Words and Encode, also when it forgets what it has seen, and of words longer than it remembers.
func TestEncoder(t *testing.T) {
	words := &WordCounts{}
	var lines []string
	for i := range 3000 {
		line := fmt.Sprintf("w%d  überall%d %s %d x@@ ", i%700, i%90, strings.Repeat("ab", i%40), i*i)
		lines = append(lines, line)
		words.AddLine(line)
	}
	lines = append(lines, "", " ", strings.Repeat("lang", 20_000)+" w1", "unseen ß 日本語")
	codes, _, err := Learn(words, LearnOptions{Merges: 200})
	if err != nil {
		t.Fatal(err)
	}
	for _, remember := range []int{0, 5000, 1 << 20} {
		for _, split := range []bool{true, false} {
			var fast, slow *BPE
			units := words.Map()
			if split {
				if fast, err = NewBPE(codes, BPEOptions{Vocabulary: map[string]bool{"w@@": true, "1": true}}); err != nil {
					t.Fatal(err)
				}
				slow, _ = NewBPE(codes, BPEOptions{Vocabulary: map[string]bool{"w@@": true, "1": true}})
				units = map[string]int{}
				for _, line := range lines[:2000] {
					for _, unit := range slow.Words(strings.Fields(line)) {
						units[unit]++
					}
				}
			}
			v := NewVocabulary(units, VocabularyOptions{MinCount: 2})
			e := NewEncoder(fast, v, remember)
			for _, line := range lines {
				want := []int32{7}
				if split {
					want = append(want, v.Encode(slow.Words(strings.Fields(line)))...)
				} else {
					want = append(want, v.Encode(strings.Fields(line))...)
				}
				if diff := cmp.Diff(want, e.Append([]int32{7}, line)); diff != "" {
					t.Fatalf("remembering %d, split %v, %.40q: %s", remember, split, line, diff)
				}
			}
		}
	}
}
