package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// retried sweeps while what matches fails, and once more with -retry while nothing does.
func retried(t *testing.T, fails string, lines ...string) (out, first, table, log string) {
	t.Helper()
	out = filepath.Join(t.TempDir(), "[sweep] a*") // no pattern
	file := searchText(t, lines...)
	t.Setenv("SWEEP_FAILS", fails)
	first, log, err := swept(t, file, "-out", out)
	if err != nil || !strings.Contains(log, "too little memory") {
		t.Fatalf("%v\n%s", err, log)
	}
	t.Setenv("SWEEP_FAILS", "")
	table, log, err = swept(t, "-resume", "-retry", file, "-out", out)
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	made := journal(t, out)
	again, _, err := swept(t, "-resume", file, "-out", out)
	if err != nil || again != table || len(journal(t, out)) != len(made) {
		t.Errorf("%v: once more changes the table:\n%s%s", err, table, again)
	}
	return out, first, table, log
}

// TestRetriedTrialIsBest: what was tested of another trial neither stands for the best one nor is lost.
func TestRetriedTrialIsBest(t *testing.T) {
	out, first, table, log := retried(t, "rate=0.001 ",
		"search = \"grid\"\nseeds = 2\n[keys]\ntrain.learning_rate = [0.001, 0.1]")
	if want := "| 1 | 4.0510 | train.learning_rate=0.1 | 2 | 4.0515"; !strings.Contains(first, want) {
		t.Errorf("at first the table lacks %q:\n%s", want, first)
	}
	if want := "| 0 | 2.0510 | train.learning_rate=0.001 | 2 | 2.0515"; !strings.Contains(table, want) {
		t.Errorf("the table lacks %q:\n%s", want, table)
	}
	if link, err := os.Readlink(filepath.Join(out, "chosen", "mle-seed1")); err != nil || link != "../trials/mle-001" {
		t.Errorf("the chosen of seed 1 is %q, %v", link, err)
	}
	aside := filepath.Join(out, "superseded", "mle-seed2")
	if o, err := read(aside); err != nil || !o.tested || !strings.Contains(log, "it is in "+aside+"\n") {
		t.Errorf("%v, %v:\n%s", o, err, log)
	}
	if strings.Contains(log, "[5/4]") {
		t.Errorf("more is done than there is:\n%s", log)
	}
}

// TestUntested: a trial that cannot be tested is still the one that validation chose, although the program has removed
// its scores, and -retry tests it.
func TestUntested(t *testing.T) {
	out, first, table, _ := retried(t, "test=true .*mle-001",
		"search = \"grid\"\nseeds = 3\n[keys]\ntrain.learning_rate = [0.001, 0.1]")
	for table, seeds := range map[string]string{first: "2 | 2.0525", table: "3 | 2.0520"} {
		if want := "| 2 of 2 | 0 | 2.0510 | train.learning_rate=0.001 | " + seeds; !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	if made := journal(t, out); made["update mle-001"] != 20 || made["end mle-seed2"] != 1 {
		t.Errorf("trained again: %v", made)
	}
}

// TestRetryHalving: a stage decides anew where trials failed in it, and only there.
func TestRetryHalving(t *testing.T) {
	decided := func(out, name string) string {
		text, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var stages []string
	for _, fails := range []string{"method=cosreg .*steps=5 ", "method=cosreg .*rate=0.001 .*steps=10 ",
		"method=cosreg .*(rate=0.002 .*steps=5 |rate=0.001 .*steps=20 )"} {
		out, _, table, _ := retried(t, fails, `methods = ["mle", "cosreg"]`, threeRungs,
			"train.learning_rate = [0.001, 0.002, 0.004, 0.008, 0.01, 0.02, 0.04, 0.1]")
		if want := "| cosreg | 8 of 8 | 0 | 2.0410 | train.learning_rate=0.001 | 1 | 2.0410"; !strings.Contains(table, want) {
			t.Errorf("%s: the table lacks %q:\n%s", fails, want, table)
		}
		updates := 0
		for what, n := range journal(t, out) {
			if strings.HasPrefix(what, "update mle-") {
				updates += n
			}
		}
		if updates != 4*5+2*10+2*20 {
			t.Errorf("%s: the other method made %d updates", fails, updates)
		}
		stages = append(stages, decided(out, "rung-1.json")+decided(out, "rung-2.json"))
	}
	if stages[1] != stages[0] || stages[2] != stages[0] {
		t.Errorf("decided: %v", stages)
	}
}

// TestRetriedLeader: where the retried trial of the control is its best, the others follow it, not the one before.
func TestRetriedLeader(t *testing.T) {
	for _, search := range []string{"search = \"grid\"", "search = \"halving\"\ntrials = 2\nrungs = 2\nkeep = 2"} {
		out, first, table, log := retried(t, "method=mle .*rate=0.001 ", search, `methods = ["mle", "cosreg"]
shared = "control"
seeds = 2
args = ["-set=train.steps=20"]
[keys]
train.learning_rate = [0.001, 0.1]
[method.cosreg]
objective.gamma = [1.0, 2.0]`)
		for table, want := range map[string]string{
			first: "| cosreg | 2 of 2 | 0 | 4.0410 | train.learning_rate=0.1 objective.gamma=1 | 2 | 4.0415",
			table: "| cosreg | 2 of 2 | 0 | 2.0410 | train.learning_rate=0.001 objective.gamma=1 | 2 | 2.0415"} {
			if !strings.Contains(table, want) {
				t.Errorf("%s: the table lacks %q:\n%s%s", search, want, table, log)
			}
		}
		for _, name := range []string{"cosreg-001", "cosreg-002", "cosreg-seed2", "mle-seed2"} {
			if o, err := read(filepath.Join(out, "superseded", name)); err != nil || !o.finished {
				t.Errorf("%s: %s is not kept: %v", search, name, err)
			}
		}
	}
}
