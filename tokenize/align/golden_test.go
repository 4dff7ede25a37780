package align

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// golden is a line of testdata/fast_align.jsonl.
type golden struct {
	Flags string
	Links []string // a line for each pair
}

// goldens reads the pairs and what fast_align and atools make of them, by their flags.
func goldens(t *testing.T) (pairs []string, links map[string][]string) {
	t.Helper()
	file, err := os.Open("testdata/fast_align.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	links = map[string][]string{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if pairs == nil {
			if err := json.Unmarshal(lines.Bytes(), &pairs); err != nil {
				t.Fatal(err)
			}
			continue
		}
		var g golden
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil || len(g.Links) != len(pairs) {
			t.Fatalf("%d pairs have %d lines of links: %v", len(pairs), len(g.Links), err)
		}
		links[g.Flags] = g.Links
	}
	if len(links) != 7 {
		t.Fatalf("there are %d goldens", len(links))
	}
	return pairs, links
}

// The links are fast_align's. Where they are not, the formulas find fast_align's as probable: rounding has decided.
func TestFastAlign(t *testing.T) {
	pairs, want := goldens(t)
	source, target := make([][]string, len(pairs)), make([][]string, len(pairs))
	for k, pair := range pairs {
		s, f, _ := strings.Cut(pair, "|||")
		source[k], target[k] = strings.Fields(s), strings.Fields(f)
	}
	same, all := 0, 0
	for flags, lines := range want {
		if flags == "grow-diag-final-and" {
			continue
		}
		o := Options{Diagonal: strings.Contains(flags, "-d"), Tension: strings.Contains(flags, "-o"),
			Bayes: strings.Contains(flags, "-v"), Reverse: strings.Contains(flags, "-r")}
		if strings.Contains(flags, "-I 1") {
			o.Iterations = 1
		}
		formulas := learnt(source, target, o)
		for k, got := range Align(corpusOf(source, target), o) {
			if all++; Format(got) == lines[k] {
				same++
				continue
			}
			theirs, err := Parse(lines[k])
			if err != nil {
				t.Fatal(err)
			}
			if wrong := formulas.check(k, theirs); wrong != "" {
				t.Errorf("%s, pair %d: %s, and fast_align has %s: %s", flags, k+1, Format(got), lines[k], wrong)
			}
		}
	}
	if same < all-10 {
		t.Errorf("%d of %d lines are fast_align's", same, all)
	}
}

// Both directions are joined as atools joins them.
func TestGrowDiagFinalAnd(t *testing.T) {
	_, want := goldens(t)
	grown := 0
	for k, line := range want["grow-diag-final-and"] {
		forward, err := Parse(want["-d -o -v"][k])
		if err != nil {
			t.Fatal(err)
		}
		backward, err := Parse(want["-d -o -v -r"][k])
		if err != nil {
			t.Fatal(err)
		}
		if got := Format(GrowDiagFinalAnd(forward, backward)); got != line {
			t.Errorf("pair %d: %s, and atools has %s", k+1, got, line)
		}
		if line != want["-d -o -v"][k] && line != want["-d -o -v -r"][k] {
			grown++
		}
	}
	if grown < 10 {
		t.Errorf("only %d pairs differ from both directions: the test shows little", grown)
	}
}
