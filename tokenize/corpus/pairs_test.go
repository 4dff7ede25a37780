package corpus

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pairOf makes a pair of the given lengths with ids from 4 on.
func pairOf(line, source, target int) Pair {
	p := Pair{Source: make([]int32, source), Target: make([]int32, target), Line: line}
	for i := range p.Source {
		p.Source[i] = int32(4 + (line+i)%50)
	}
	for i := range p.Target {
		p.Target[i] = int32(60 + (line+i)%50)
	}
	return p
}

func TestEncode(t *testing.T) {
	encode := func(line string) []int32 { return make([]int32, len(strings.Fields(line))) }
	got := Encode([]string{"a b", ""}, []string{"x", "y z"}, encode, encode)
	want := List{{[]int32{0, 0}, []int32{0}, 1}, {[]int32{}, []int32{0, 0}, 2}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got = Encode([]string{"a b"}, nil, encode, nil)
	if diff := cmp.Diff(List{{[]int32{0, 0}, nil, 1}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestFilter(t *testing.T) {
	pairs := List{
		pairOf(1, 3, 4),
		pairOf(2, 0, 4), // empty
		pairOf(3, 0, 0), // empty
		pairOf(4, 10, 10),
		pairOf(5, 11, 10), // too long
		pairOf(6, 5, 40),  // too long before its ratio counts
		pairOf(7, 4, 8),   // a ratio of just 2
		pairOf(8, 4, 9),   // ratio
		pairOf(9, 9, 4),   // ratio
	}
	kept, report, err := Filter(pairs, Limits{MaxLength: 10, MaxRatio: 2})
	if err != nil {
		t.Fatal(err)
	}
	var lines []int
	for _, p := range listOf(kept) {
		lines = append(lines, p.Line)
	}
	if diff := cmp.Diff([]int{1, 4, 7}, lines); diff != "" {
		t.Error(diff)
	}
	want := FilterReport{
		Read: 9, Kept: 3, Tokens: 25, Empty: 2, TooLong: 2, Ratio: 2, Limits: Limits{10, 2},
		Longest: []Dropped{
			{6, 5, 40, "too long"}, {5, 11, 10, "too long"}, {8, 4, 9, "length ratio"},
			{9, 9, 4, "length ratio"}, {2, 0, 4, "empty side"}, {3, 0, 0, "empty side"},
		},
	}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Error(diff)
	}
	text := report.String()
	for _, part := range []string{
		"kept 3 of 9 sentence pairs; dropped 2 with an empty side, 2 longer than 10 tokens, 2 with a length ratio " +
			"above 2\n",
		"\n  line 6: 5 and 40 tokens (too long)\n",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("report %q does not hold %q", text, part)
		}
	}
}

func TestFilterWithoutLimits(t *testing.T) {
	pairs := List{pairOf(1, 1, 500), pairOf(2, 900, 1)}
	kept, report, err := Filter(pairs, Limits{})
	if err != nil || kept.Len() != 2 || report.String() != "kept 2 of 2 sentence pairs" {
		t.Errorf("kept %v, %v, %v", kept, report, err)
	}
}

func TestFilterReportsTenLongest(t *testing.T) {
	pairs := List{pairOf(1, 1, 1)}
	for n := range 30 {
		pairs = append(pairs, pairOf(2+n, 20+n, 3))
	}
	_, report, err := Filter(pairs, Limits{MaxLength: 10})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(report.Longest); n != 10 || report.Longest[0].Line != 31 || report.Longest[9].Line != 22 {
		t.Errorf("the longest %d are %v", n, report.Longest)
	}
}

func TestFilterErrors(t *testing.T) {
	_, _, err := Filter(List{pairOf(1, 0, 3), pairOf(2, 30, 30)}, Limits{MaxLength: 10})
	mustName(t, err, "none of the 2", "1 empty", "1 too long", "data.max_length")
	_, _, err = Filter(List{}, Limits{})
	mustName(t, err, "no sentence pairs")
}
