package corpus

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReader: chunks follow one another epoch after epoch, as they do from any position on.
func TestReader(t *testing.T) {
	ids := make([]int32, 400)
	for i := range ids {
		ids[i] = int32(i)
	}
	text, err := NewColumns(ids, 4, "the text", "columns")
	if err != nil {
		t.Fatal(err)
	}
	settings := ColumnSettings{PartialShuffle: true, Lengths: Lengths{BPTT: 12, Random: true}}
	open := func(from Position) *Reader {
		r, err := NewReader(text, settings, 3, from)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	type seen struct {
		Span     Span
		Epoch    int
		First    bool
		Position Position
		Token    int32
	}
	read := func(r *Reader, n int) (all []seen) {
		for range n {
			p := r.Next()
			all = append(all, seen{p.Span, p.Epoch, p.First, p.Position, p.Columns.At(p.Span.Row, 2)})
		}
		return all
	}
	whole := read(open(Position{}), 30)
	r := open(Position{})
	if first := settings.Lengths.Epoch(text.Rows, 3, 0); r.Count(1) != len(first) ||
		r.Count(2) != len(first)+len(settings.Lengths.Epoch(text.Rows, 3, 1)) {
		t.Errorf("%d and %d chunks in one and two epochs", r.Count(1), r.Count(2))
	}
	sevens := Lengths{BPTT: 7}
	alike, err := NewReader(text, ColumnSettings{Lengths: sevens}, 3, Position{})
	n := len(sevens.Epoch(text.Rows, 3, 0))
	if err != nil || alike.Count(3) != 3*n || alike.Count(1<<40) != n<<40 {
		t.Errorf("%v, %d chunks of one length in three epochs, want %d", err, alike.Count(3), 3*n)
	}
	for i := range 20 {
		if diff := cmp.Diff(whole[i+1:], read(open(whole[i].Position), 29-i)); diff != "" {
			t.Fatalf("from position %v on:\n%s", whole[i].Position, diff)
		}
		if first := i == 0 || whole[i-1].Position.Batch == 0; whole[i].First != first {
			t.Errorf("chunk %d begins an epoch: %v", i, whole[i].First)
		}
		r.Next()
		if r.Position() != whole[i].Position {
			t.Errorf("the position is %v, want %v", r.Position(), whole[i].Position)
		}
	}
	for _, at := range []Position{{Batch: 1000}, {Batch: open(Position{}).Count(1)}, {Batch: -1}, {Epoch: -1}} {
		if _, err := NewReader(text, settings, 3, at); err == nil ||
			!strings.Contains(err.Error(), "use the text that the checkpoint was made with") {
			t.Errorf("position %v: %v", at, err)
		}
	}
}
