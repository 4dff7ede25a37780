package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFollow: where the control searches for all, the others train with its best values, and search only what is
// theirs; one that joins later does so too.
func TestFollow(t *testing.T) {
	const shared = `shared = "control"
seeds = 2
args = ["-set=train.steps=20"]
jobs = 2
[keys]
train.learning_rate = {log = [1e-4, 1e-1]}
[method.cosreg]
objective.gamma = {log = [1.0, 10.0]}`
	for name, c := range map[string]struct {
		lines        string
		first, whole int // updates of a trial at first, and of the best
		jobs         int // of each method
	}{
		"random":                  {"search = \"random\"\ntrials = 4", 20, 20, 4 + 2},
		"halving":                 {"search = \"halving\"\ntrials = 4\nrungs = 2\nkeep = 4", 5, 20, 4 + 1 + 2},
		"halving to two in three": {"search = \"halving\"\ntrials = 8\nrungs = 3\nkeep = 2", 5, 20, 8 + 4 + 2 + 2},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "sweep")
			file := searchText(t, `methods = ["cosreg", "mle"]`, c.lines, shared)
			plan, _, err := swept(t, file, "-out", out, "-dry-run")
			if err != nil || !strings.Contains(plan, "the best values of [keys] that mle finds") ||
				!regexp.MustCompile(`(?m)method=cosreg .*-set=objective.gamma=[^ ]+ [^\n]*-out`).MatchString(plan) {
				t.Errorf("the plan: %v\n%s", err, plan)
			}
			table, log, err := swept(t, file, "-out", out)
			if err != nil {
				t.Fatal(err)
			}
			best := regexp.MustCompile(`\| mle \|.*\| (train.learning_rate=[^ ]*) \| 2 \|`).FindStringSubmatch(table)
			if best == nil {
				t.Fatalf("the table:\n%s%s", table, log)
			}
			if !strings.Contains(table, best[1]+" objective.gamma=") {
				t.Errorf("cosreg does not have %s:\n%s", best[1], table)
			}
			gammas := map[string]bool{}
			for line := range strings.Lines(log) {
				if gamma := regexp.MustCompile(`cosreg-\d+ (train[^ ]*) (objective[^ :]*)`).FindStringSubmatch(line); gamma != nil {
					gammas[gamma[2]] = true
					if gamma[1] != best[1] {
						t.Errorf("not the control's best values: %s", line)
					}
				}
			}
			if trials := strings.Count(plan, "method=mle"); len(gammas) != trials {
				t.Errorf("cosreg searched %v, %d trials wanted", gammas, trials)
			}
			made := journal(t, out)
			lengths := map[int]int{}
			for what, n := range made {
				if strings.HasPrefix(what, "update cosreg-0") {
					lengths[n]++
				}
			}
			if lengths[c.first] == 0 || lengths[c.whole] == 0 {
				t.Errorf("trials of cosreg by updates: %v", lengths)
			}
			checkProgress(t, log, 1, 2*c.jobs)
			shown, _, err := swept(t, file, "-out", out, "-table")
			if err != nil || shown != table {
				t.Errorf("%v: shown again\n%s", err, shown)
			}
			more := searchText(t, `methods = ["mle", "spectrum", "cosreg"]`, c.lines, shared,
				"[method.spectrum]\nobjective.lambda_prior = [1.0, 3.0]")
			after, log, err := swept(t, more, "-out", out, "-resume")
			if err != nil || !strings.Contains(after, best[1]+" objective.lambda_prior=") {
				t.Errorf("one more method: %v\n%s", err, after)
			}
			checkProgress(t, log, 2*c.jobs+1, 3*c.jobs)
			now := journal(t, out)
			for what, n := range made {
				if now[what] != n {
					t.Errorf("%s: %d, before %d", what, now[what], n)
				}
			}
		})
	}
	_, _, err := swept(t, searchText(t, `methods = ["cosreg", "mle"]`, "trials = 2",
		strings.ReplaceAll(shared, "[1e-4, 1e-1]", "[1.0, 2.0]")), "-out", filepath.Join(t.TempDir(), "sweep"))
	if err == nil || !strings.Contains(err.Error(), "no trial of mle has a validation score") {
		t.Errorf("a control that fails: %v", err)
	}
}
