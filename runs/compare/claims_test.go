package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/aperture-ml/aperture/runs/internal/command"
)

// TestWord: the rule of docs/results/plan.md, of measures where more is better and of those where less is.
func TestWord(t *testing.T) {
	for _, c := range []struct {
		low, high, published float64
		want                 string
	}{
		{0.1, 1.2, 0.5, held}, {0.1, 0.4, 0.5, heldSmaller}, {0.6, 0.9, 0.5, held}, {-0.9, -0.1, 0.5, reversed},
		{-0.1, 0.4, 0.5, notThatLarge}, {-0.1, 0.6, 0.5, tooWeak}, {0, 0.4, 0.5, notThatLarge}, {-0.3, 0, 0.5, notThatLarge},
		{math.NaN(), math.NaN(), 0.5, tooWeak},
	} {
		if got := word(c.low, c.high, c.published); got != c.want {
			t.Errorf("%g to %g beside %g: %q, want %q", c.low, c.high, c.published, got, c.want)
		}
		if got := word(-c.high, -c.low, -c.published); got != c.want {
			t.Errorf("%g to %g beside %g: %q, want %q", -c.high, -c.low, -c.published, got, c.want)
		}
	}
}

const claimed = `control = "mle"
[[endpoint]]
title = "a text"
measure = "test.x.bleu"
published = {cosreg = 0.5, spectrum = 0.9}
looks = {6 = 0.0056}
`

// TestClaims: the differences, p and intervals are those of testdata/gen_claims.py, for a spread pooled over the rows:
// of the larger difference at half the level, of the other at the level.
func TestClaims(t *testing.T) {
	folder := t.TempDir()
	file, scores := filepath.Join(folder, "claims.toml"), filepath.Join(folder, "all.csv")
	write(t, file, claimed)
	write(t, scores, "method,measure,values\nmle,test.x.bleu,10 10.3 9.8 10.1 9.9 10.2\n"+
		"spectrum,test.x.bleu,10.9 10.8 11.2 10.7 11.1 11\ncosreg,test.x.bleu,10.1 9.9 10.2 9.8 10.3 10\n"+
		"mle,test.x.nll,1 2\n")
	out, _, err := compared(t, "-claims", file, scores)
	for _, want := range []string{
		"| endpoint | method | seeds | mle | with the method |",
		"| a text | spectrum | 6 | 10.05 ± 0.19 | 10.95 ± 0.19 | +0.90 (+0.51 to +1.29) | 0.0028 | <0.0001 | +0.90 | held |",
		"| a text | cosreg | 6 | 10.05 ± 0.19 | 10.05 ± 0.19 | 0.00 (−0.35 to +0.35) | 0.0056 | 1.0000 | +0.50 | " +
			"did not hold at the published size |",
		"corrected for the number of rows",
	} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%v: no %q in\n%s", err, want, out)
		}
	}
	if strings.Contains(out, "exploratory") {
		t.Errorf("the look was planned:\n%s", out)
	}
	// Another row widens the family; what no file has, and a title that is no line of a table, are shown as they can be.
	write(t, file, claimed+"[[endpoint]]\ntitle = \"gone\\u001b[31m\\n|\"\nmeasure = \"y\"\npublished = {cosreg = 1}\n")
	rows, err := os.ReadFile(scores)
	if err != nil {
		t.Fatal(err)
	}
	write(t, scores, string(rows)+"mos,test.x.bleu,9  9.5   \n")
	if out, _, err = compared(t, "-claims", file, scores); err != nil || !strings.Contains(out, "| 0.0019 | <0.0001 | +0.90 |") ||
		!strings.HasSuffix(out, " Not measured: gone\uFFFD[31m |.\n") {
		t.Errorf("%v: with another row, and without a measure:\n%s", err, out)
	}
	write(t, file, strings.Replace(claimed, "6 =", "9 =", 1))
	write(t, scores, string(rows))
	if out, _, err = compared(t, "-claims", file, scores); err != nil || !strings.Contains(out, "exploratory: a text.") ||
		!strings.Contains(out, "| 0.025 |") {
		t.Errorf("%v: another number of seeds than planned:\n%s", err, out)
	}
	write(t, scores, "method,measure,values\nmle,test.x.bleu,10\nspectrum,test.x.bleu,11\ncosreg,test.x.bleu,10\n")
	if out, _, err = compared(t, "-claims", file, scores); err != nil || strings.Contains(out, "NaN") ||
		!strings.Contains(out, "| +1.00 (– to –) | – | – | +0.90 | too weak to tell |") {
		t.Errorf("%v: with one seed:\n%s", err, out)
	}
}

func TestClaimsRefuse(t *testing.T) {
	folder := t.TempDir()
	file, scores := filepath.Join(folder, "claims.toml"), filepath.Join(folder, "all.csv")
	whole := "method,measure,values\nmle,test.x.bleu,1 2\ncosreg,test.x.bleu,2 4\n"
	for _, c := range []struct{ claims, scores, want string }{
		{"control = ", whole, "line 1"},
		{"control = \"mle\"\n", whole, "[[endpoint]] at least"},
		{strings.Replace(claimed, "title", "name", 1), whole, "unknown key endpoint.name"},
		{strings.Replace(claimed, "\"a text\"", "3", 1), whole, "claims.toml"},
		{strings.Replace(claimed, "published = {cosreg = 0.5, spectrum = 0.9}", "", 1), whole, "wants title, measure, and published"},
		{strings.Replace(claimed, "0.5", "0", 1), whole, "the published difference of \"cosreg\" is 0"},
		{strings.Replace(claimed, "cosreg =", "mle =", 1), whole, "of another method"},
		{strings.Replace(claimed, "6 =", "1 =", 1), whole, "looks has \"1\""},
		{strings.Replace(claimed, "0.0056", "1", 1), whole, "= 1, and wants"},
		{claimed, "method,measure,values\nmle,test.y.bleu,1 2\n", "none of the endpoints' measures"},
		{claimed, "method,measure,values\nmle,test.x.bleu,1 2\ncosreg,test.x.bleu,2 4\n", "there is no spectrum, of which"},
		{claimed, "method,measure,values\ncosreg,test.x.bleu,1 2\n", "there is no mle"},
		{claimed, whole + "spectrum,test.x.bleu, 4\n", "spectrum and mle have different seeds"},
		{claimed, whole + "spectrum,test.x.bleu,3 4\ncosreg,test.x.bleu,1 4\n", "cosreg has several rows"},
		{claimed, whole + "spectrum,test.x.bleu,3 4\nmle,test.x.bleu,1 4\n", "mle, the control, has several rows"},
		{strings.Replace(claimed, "6 =", "06 =", 1), whole, "looks has \"06\""},
	} {
		write(t, file, c.claims)
		write(t, scores, c.scores)
		if out, _, err := compared(t, "-claims", file, scores); err == nil || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %s\n%s", err, c.want, out)
		}
	}
	if _, _, err := compared(t, "-claims", filepath.Join(folder, "none"), scores); err == nil ||
		!strings.Contains(err.Error(), "none") {
		t.Errorf("a missing file gives %v", err)
	}
	write(t, file, claimed)
	write(t, scores, whole+"spectrum,test.x.bleu,3 4\n")
	if _, _, err := compared(t, "-claims", file, scores, scores); err == nil || !strings.Contains(err.Error(), "both have scores") {
		t.Errorf("one file twice: %v", err)
	}
	for _, more := range [][]string{{"-csv"}, {"-forest=x.svg"}, {"-control=cosreg"}, {"-out=x.html"}, {"-pictures=x"}} {
		if _, _, err := compared(t, append(more, "-claims", file, scores)...); err == nil || command.ExitCode(err) != 2 {
			t.Errorf("-claims goes with %q: %v", more, err)
		}
	}
}

// TestCommittedClaims: the tables of claims are what -claims makes of the scores beside them, and README.md has the means
// and intervals of the first look.
func TestCommittedClaims(t *testing.T) {
	const results = "../../docs/results/"
	c, err := readClaims(results + "claims.toml")
	if err != nil {
		t.Fatal(err)
	}
	for page, scores := range map[string][]string{
		"README.md":            {results + "multi30k/all.csv", results + "ptb/all.csv"},
		"evidence-multi30k.md": {results + "evidence-multi30k/all.csv"},
	} {
		table, _, err := c.judge(scores)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(results + page)
		if err != nil || !strings.Contains(string(text), "\n\n"+table.Markdown()+"\n") {
			t.Errorf("%v: docs/results/%s lacks what `go run ./runs/compare -claims docs/results/claims.toml %s` prints:\n%s",
				err, page, strings.Join(scores, " "), table.Markdown())
		}
		if page == "README.md" {
			continue
		}
		first, err := os.ReadFile("../../README.md")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(table.Markdown()) {
			cells := strings.Split(line, " | ")
			if len(cells) < 6 || !strings.Contains(cells[4], "±") {
				continue
			}
			_, interval, _ := strings.Cut(strings.TrimSuffix(cells[5], ")"), "(")
			for _, want := range []string{cells[3], cells[4] + " | " + interval + " |"} {
				if !strings.Contains(string(first), want) {
					t.Errorf("README.md lacks %q", want)
				}
			}
		}
	}
}

// TestCommittedScores: all.csv of the first look is what -csv makes of the runs that are kept.
func TestCommittedScores(t *testing.T) {
	const folder = "../../docs/results/evidence-multi30k/"
	out, _, err := compared(t, folder+"chosen", "-csv")
	if err != nil {
		t.Fatal(err)
	}
	committed, err := os.ReadFile(folder + "all.csv")
	if err != nil || string(committed) != out {
		t.Errorf("%v: all.csv is stale: go run ./runs/compare docs/results/evidence-multi30k/chosen -csv", err)
	}
}

// TestPlan: claims.toml has the levels of plan.md, and these find a difference in 5 of 100 experiments without one: in
// 400,000 of them the looks' statistics are sums of the same normal numbers, of the share of seeds that they have seen.
func TestPlan(t *testing.T) {
	c, err := readClaims("../../docs/results/claims.toml")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/results/plan.md")
	if err != nil {
		t.Fatal(err)
	}
	plan := strings.Join(strings.Fields(string(page)), " ")
	for _, e := range c.Endpoints {
		if len(e.Looks) == 1 {
			if want := "Penn Treebank has one look, at 8 seeds, at 0.05."; e.Looks["8"] != 0.05 || !strings.Contains(plan, want) {
				t.Errorf("%s: looks %v; does the plan say %q?", e.Title, e.Looks, want)
			}
			continue
		}
		levels := []float64{e.Looks["6"], e.Looks["9"], e.Looks["12"]}
		if want := fmt.Sprintf("%g, %g and %g.", levels[0], levels[1], levels[2]); len(e.Looks) != 3 || !strings.Contains(plan, want) {
			t.Errorf("%s: the plan does not say %q", e.Title, want)
		}
		random, alarms := rand.New(rand.NewPCG(1, 2)), 0
		const experiments = 400_000
		for range experiments {
			sum, seen := 0.0, 0.0
			for i, share := range []float64{6. / 12, 9. / 12, 1} {
				sum, seen = sum+math.Sqrt(share-seen)*random.NormFloat64(), share
				if 2*distuv.UnitNormal.Survival(math.Abs(sum)/math.Sqrt(share)) < levels[i] {
					alarms++
					break
				}
			}
		}
		if rate := float64(alarms) / experiments; math.Abs(rate-0.05) > 0.0015 {
			t.Errorf("%s: the looks find nothing in all but %.4f of experiments", e.Title, rate)
		}
	}
	published := regexp.MustCompile("`(cosreg|spectrum|adversarial)` \\+([0-9.]+)").FindAllStringSubmatch(plan, -1)
	if len(published) != 3 {
		t.Fatal(published)
	}
	for _, p := range published {
		if got := fmt.Sprint(c.Endpoints[0].Published[p[1]]); got != p[2] {
			t.Errorf("BLEU of %s: %s published, and %s in the plan", p[1], got, p[2])
		}
	}
	nats := regexp.MustCompile(`differences of the loss: (-[0-9.]+), (-[0-9.]+), (-[0-9.]+) nats`).FindStringSubmatch(plan)
	for _, e := range c.Endpoints[1:] {
		var got []string
		for _, method := range []string{"cosreg", "spectrum", "adversarial"} {
			got = append(got, fmt.Sprint(e.Published[method]))
		}
		if nats == nil || !slices.Equal(got, nats[1:]) {
			t.Errorf("%s: %v published, and %v in the plan", e.Title, got, nats)
		}
	}
}
