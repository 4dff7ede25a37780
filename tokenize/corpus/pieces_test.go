package corpus

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/tokenize/bytebpe"
)

// learntFrom are pieces of a text's lines.
func learntFrom(text string, size int) *bytebpe.Tokenizer {
	var counts bytebpe.Counts
	for line := range strings.Lines(text) {
		counts.Add([]byte(line))
	}
	return bytebpe.Learn(&counts, size)
}

// TestPiecesOfLines: the pieces of a file read line by line are those of its whole text, whatever its white space.
func TestPiecesOfLines(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "the", "'s", "12", "?!", " ", " ", "  ", "\t", "\n", "\n", "\n\n", " \n ", "\u00a0", "ä€"}
	text := func() string {
		var b strings.Builder
		for range r.IntN(60) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		return b.String() + "\n"
	}
	var training strings.Builder
	for range 200 {
		training.WriteString(text())
	}
	k := learntFrom(training.String(), 400)
	for range 2000 {
		text := text()
		w := NewPieces(k)
		ids, err := readText(t, text, w)
		if err != nil {
			t.Fatal(err)
		}
		if want := k.Encode(text); !slices.Equal(ids, want) {
			t.Fatalf("%q gives %v, in one piece %v", text, ids, want)
		}
		if got := w.Text(ids); got != text {
			t.Fatalf("%q comes back as %q", text, got)
		}
	}
}

// TestLearntPieces: the first text that is read teaches the pieces, and the others are spelled with them.
func TestLearntPieces(t *testing.T) {
	const text = " the cat sat \n the dog sat \n\n the cat\n"
	w := LearntPieces(270)
	ids, err := readText(t, text, w)
	if err != nil {
		t.Fatal(err)
	}
	k := learntFrom(text, 270)
	if !slices.Equal(ids, k.Encode(text)) || w.Len() != k.Len() || w.Len() <= 256 || w.Unit() != "pieces" {
		t.Errorf("%d pieces, ids %v", w.Len(), ids)
	}
	same := LearntPieces(270)
	running, err := RunningLines(strings.Split(strings.TrimSuffix(text, "\n"), "\n"), "train", same)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(running.IDs, ids) || same.Hash() != w.Hash() {
		t.Error("lines in memory give other pieces than a file")
	}
	// the cat sat <eos>, the dog sat <eos>, <eos>, the cat <eos>
	if running.Words != 12 || running.Bytes != len(text) {
		t.Errorf("%d words and %d bytes", running.Words, running.Bytes)
	}
	other, err := readText(t, "a zebra\n", w)
	if err != nil || w.Text(other) != "a zebra\n" {
		t.Errorf("%v spells %q: %v", other, w.Text(other), err)
	}
	end, _ := w.End()
	if begin, _ := w.Begin(); w.Text([]int32{end}) != "\n" || begin != end {
		t.Errorf("lines end in %d, texts begin with %d", end, begin)
	}
	if w.Hash() == NewPieces(learntFrom(text, 258)).Hash() {
		t.Error("other merges have the same hash")
	}
}
