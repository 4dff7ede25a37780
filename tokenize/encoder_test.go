package tokenize

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// An Encoder gives the ids of Words and Encode, also when it forgets what it has seen, and of words longer than it
// remembers, whether a unit is a symbol of the codes or, as with options and old codes, is made otherwise.
func TestEncoder(t *testing.T) {
	words := &WordCounts{}
	var lines []string
	for i := range 1500 {
		line := fmt.Sprintf("w%d  überall%d %s %d x@@ ", i%700, i%90, strings.Repeat("ab", i%40), i*i)
		lines = append(lines, line)
		words.AddLine(line)
	}
	for range 50 {
		words.AddLine("a</w> </w>b ab</w>") // what also marks the end of a word
	}
	lines = append(lines, "", " ", strings.Repeat("lang", 5_000)+" w1", "unseen ß 日本語 a</w>b </w> ab</w> a日b é",
		"</w>ab x@@ab@@", "a <pad> is no padding")
	current, _, err := Learn(words, LearnOptions{Merges: 200})
	if err != nil {
		t.Fatal(err)
	}
	old := &Codes{Version: "0.1", Merges: current.Merges}
	for _, c := range []struct {
		name     string
		codes    *Codes // nil: whole words
		options  BPEOptions
		remember int
	}{
		{"words", nil, BPEOptions{}, 5000}, {"units", current, BPEOptions{}, 1 << 20},
		{"units, little remembered", current, BPEOptions{}, 5000},
		{"units, nothing remembered", current, BPEOptions{}, 0},
		{"another separator", current, BPEOptions{Separator: "+"}, 5000}, {"old codes", old, BPEOptions{}, 5000},
		{"a vocabulary", current, BPEOptions{Vocabulary: map[string]bool{"w@@": true, "1": true}}, 5000},
		{"a glossary", current, BPEOptions{Glossaries: []string{"w[0-9]"}}, 5000},
	} {
		segment := func(line string) []string { return strings.Fields(line) }
		var fast *BPE
		if c.codes != nil {
			if fast, err = NewBPE(c.codes, c.options); err != nil {
				t.Fatal(err)
			}
			slow, _ := NewBPE(c.codes, c.options)
			segment = func(line string) []string { return slow.Words(strings.Fields(line)) }
		}
		units := map[string]int{}
		for _, line := range lines[:1000] {
			for _, unit := range segment(line) {
				units[unit]++
			}
		}
		v := NewVocabulary(units, VocabularyOptions{MinCount: 2})
		e := NewEncoder(fast, v, c.remember)
		for _, line := range lines {
			want := append([]int32{7}, v.Encode(segment(line))...)
			if got := e.Append([]int32{7}, line); !slices.Equal(want, got) {
				t.Fatalf("%s, %.40q: %d ids %.60v, want %d, %.60v", c.name, line, len(got), got, len(want), want)
			}
		}
	}
}

// TestEncoderDropout: each occurrence of a word is split anew.
func TestEncoderDropout(t *testing.T) {
	words := &WordCounts{}
	words.AddLine(strings.Repeat("abab ", 50))
	codes, _, err := Learn(words, LearnOptions{Merges: 3})
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewBPE(codes, BPEOptions{Dropout: 0.5, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	v := NewVocabulary(map[string]int{"abab": 2, "ab@@": 2, "ab": 2, "a@@": 2, "b@@": 2, "b": 2}, VocabularyOptions{})
	e, ways := NewEncoder(b, v, 1<<20), map[string]bool{}
	for range 50 {
		ways[fmt.Sprint(e.Append(nil, "abab"))] = true
	}
	if len(ways) < 3 {
		t.Errorf("a word is split in the ways %v alone", ways)
	}
}
