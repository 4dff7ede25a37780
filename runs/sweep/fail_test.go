package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aperture-ml/aperture/runs/internal/command"
)

// TestFailures: a trial that fails is named and left out, and tried again only where that is asked for.
func TestFailures(t *testing.T) {
	out := filepath.Join(t.TempDir(), "sweep")
	file := searchText(t, "search = \"grid\"\nseeds = 1\n[keys]\ntrain.learning_rate = [1.0, 0.1]")
	table, log, err := swept(t, file, "-out", out)
	if err != nil || !strings.Contains(log, "mle-001 train.learning_rate=1: failed: the loss is not finite") ||
		!strings.Contains(table, "| mle | 2 of 2 | 1 | 4.0510 | train.learning_rate=0.1 |") {
		t.Fatalf("%v\n%s%s", err, log, table)
	}
	for _, c := range []struct {
		args []string
		ends int
	}{{[]string{"-resume"}, 0}, {[]string{"-resume", "-retry"}, 1}} {
		_, log, err := swept(t, append(c.args, file, "-out", out)...)
		if err != nil || strings.Count(log, "not finite") != c.ends {
			t.Errorf("%v: %v\n%s", c.args, err, log)
		}
	}
}

// TestKilledRun: a run that is killed each time fails by that, and not by the last line of its progress.
func TestKilledRun(t *testing.T) {
	file := searchText(t, "search = \"grid\"\nseeds = 1\n[keys]\ntrain.learning_rate = [0.4, 0.1]")
	_, log, err := swept(t, file, "-out", filepath.Join(t.TempDir(), "sweep"))
	if err != nil || !strings.Contains(log, "=0.4: failed: signal: killed, 3 times; its log ends with: valid: update 20") {
		t.Errorf("%v\n%s", err, log)
	}
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nkill -9 $$\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	silent := job{folder: filepath.Join(t.TempDir(), "run")}
	if err := silent.run(t.Context(), program, nil); err == nil ||
		err.Error() != "signal: killed, 3 times; its log is empty" {
		t.Error(err)
	}
}

// TestTableOfDamaged: a run that cannot be read is named in place of its method's row.
func TestTableOfDamaged(t *testing.T) {
	out := filepath.Join(t.TempDir(), "sweep")
	file := searchText(t, "search = \"grid\"\nseeds = 1\n[keys]\ntrain.learning_rate = [0.1]")
	if _, _, err := swept(t, file, "-out", out); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(out, trialsDir, "mle-001", "results.json")
	if err := os.WriteFile(path, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := swept(t, file, "-out", out, "-table"); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
}

// threeRungs halves eight trials twice, whose values of [keys] come next.
const threeRungs = `search = "halving"
trials = 8
rungs = 3
keep = 2
seeds = 1
args = ["-set=train.steps=20"]
[keys]`

// TestProgressOfFailures: trials that failed in one stage are not counted as what a later one has done.
func TestProgressOfFailures(t *testing.T) {
	_, log, err := swept(t, searchText(t, `methods = ["mle"]`, threeRungs,
		"train.learning_rate = [1.0, 0.9, 0.8, 0.7, 0.1, 0.05, 0.01, 0.005]"), "-out", filepath.Join(t.TempDir(), "sweep"))
	if err != nil || strings.Count(log, "not finite") != 4 {
		t.Fatalf("%v\n%s", err, log)
	}
	checkProgress(t, log, 1, 8+4+2+1)
}

// TestMethodFails: a method of which every trial fails does not keep the others from being chosen, and one trial is
// enough to follow.
func TestMethodFails(t *testing.T) {
	for _, lines := range []string{"search = \"halving\"\ntrials = 4\nrungs = 3\nkeep = 2",
		"search = \"random\"\ntrials = 1\nshared = \"control\""} {
		table, log, err := swept(t, searchText(t, `methods = ["mle", "cosreg"]`, lines, `args = ["-set=train.steps=20"]
seeds = 1
[keys]
model.dropout = [0.1, 0.2]
[method.mle]
train.learning_rate = [0.1, 0.01]
[method.cosreg]
train.learning_rate = [1.0, 0.9]`), "-out", filepath.Join(t.TempDir(), "sweep"))
		if err != nil || strings.Count(log, "chosen, seed 1") != 1 ||
			!strings.Contains(log, "no trial of cosreg has a validation score") || !strings.Contains(table, "| 1 |") {
			t.Errorf("%s: %v\n%s%s", lines, err, log, table)
		}
	}
}

// TestRefusals: what means nothing is one sentence before anything runs.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		lines, want string
		code        int
	}{
		"unknown key of the file": {"trails = 3", "did you mean trials", 2},
		"unknown key of a run":    {"[keys]\ntrain.learning_rat = [0.1]", "did you mean train.learning_rate", 2},
		"a range in a grid": {"search = \"grid\"\n[keys]\ntrain.learning_rate = {log = [0.1, 0.2]}",
			"a grid wants a list", 2},
		"seeds that chose": {"trials = 4\nfirst_seed = 2\n[keys]\ntrain.learning_rate = [0.01, 0.001]",
			"the search has the seeds 1 to 2", 2},
		"an empty range":        {"[keys]\ntrain.learning_rate = {log = [0.2, 0.1]}", "from 0.2 to 0.1 is empty", 2},
		"a range from 0":        {"[keys]\ntrain.learning_rate = {log = [0, 1]}", "begins above 0", 2},
		"no section":            {"[keys]\nlearning_rate = [0.1]", "as in train.learning_rate", 2},
		"another kind of range": {"[keys]\ntrain.learning_rate = {normal = [0.1, 1.0]}", "what is normal", 2},
		"a key twice": {"[keys]\nmodel.width = [1]\n[method.mle]\nmodel.width = [2]", "remove one of them",
			2},
		"another method":     {"[method.mos]\nmodel.width = [2]", "not in methods", 2},
		"searched seeds":     {"[keys]\ntrain.seed = [1, 2]", "train.seed cannot be searched: seed, seeds and", 2},
		"searched threads":   {"[method.mle]\ntrain.threads = [1, 2]", "threads of the file sets it", 2},
		"a seed in args":     {"args = [\"-set=train.seed=3\"]", "args holds train.seed=3: seed, seeds and", 2},
		"no control":         {"methods = [\"spectrum\"]", "control = \"mle\" is not in methods", 2},
		"its own flag":       {"args = [\"-seed=3\"]", "the sweep gives each run", 2},
		"steps as a flag":    {"args = [\"-steps=3\"]", "write -set=train.steps=N", 2},
		"tests in trials":    {"args = [\"-set\", \"report.test=true\"]", "for what was chosen only", 2},
		"too short to halve": {"search = \"halving\"\nrungs = 9", "leave nothing of 20 steps", 2},
		"two lengths to halve": {"search = \"halving\"\nargs = [\"-set=train.epochs=5\"]",
			"train.steps = 20 and train.epochs = 5", 2},
		"searched steps":  {"search = \"halving\"\n[keys]\ntrain.steps = [20, 40]", "train.steps is searched", 2},
		"searched epochs": {"search = \"halving\"\n[method.mle]\ntrain.epochs = [2, 4]", "train.epochs is searched", 2},
		"a rate that goes by the length": {"search = \"halving\"\nargs = [\"-set=schedule.kind=cosine\"]",
			"a cosine schedule goes by the length", 2},
		"a rate that does in some trials": {"search = \"halving\"\n[keys]\nschedule.kind = [\"constant\", \"linear\"]",
			"a linear schedule goes by the length", 2},
		"noise that falls": {"search = \"halving\"\nargs = [\"-set=model.input_noise=0.1\"]",
			"noise goes from model.input_noise to", 2},
		"noise that falls in some trials": {"search = \"halving\"\n[keys]\nmodel.input_noise = [0.0, 0.1]",
			"noise goes from model.input_noise to", 2},
	} {
		_, _, err := swept(t, searchText(t, c.lines), "-out", filepath.Join(t.TempDir(), "sweep"))
		if err == nil || !strings.Contains(err.Error(), c.want) || command.ExitCode(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	out := filepath.Join(t.TempDir(), "sweep")
	short := "search = \"grid\"\nseeds = 1\n[keys]\ntrain.learning_rate = [0.1]"
	if _, _, err := swept(t, searchText(t, short), "-out", out, "-resume"); err == nil ||
		!strings.Contains(err.Error(), "no sweep to resume") {
		t.Errorf("nothing to resume: %v", err)
	}
	for range 2 { // once to begin, once to go on
		if _, _, err := swept(t, searchText(t, short), "-out", out, "-resume=auto"); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := swept(t, searchText(t, short), "-out", out); err == nil ||
		!strings.Contains(err.Error(), "already holds a sweep") {
		t.Errorf("a second time: %v", err)
	}
	if _, _, err := swept(t, searchText(t, strings.Replace(short, "0.1", "0.2", 1)), "-out", out, "-resume"); err == nil || !strings.Contains(err.Error(), "other keys or values") {
		t.Errorf("other values: %v", err)
	}
	for _, change := range []string{"control = \"mle\"\nmethods = [\"mle\", \"cosreg\"]", "trials = 9"} {
		if _, _, err := swept(t, searchText(t, change, short), "-out", out, "-resume"); err == nil ||
			!strings.Contains(err.Error(), "since the sweep began") {
			t.Errorf("%s: %v", change, err)
		}
	}
	if _, _, err := swept(t, searchText(t, strings.Replace(short, "seeds = 1", "seeds = 2", 1)), "-out", out,
		"-resume"); err != nil {
		t.Errorf("one more seed: %v", err)
	}
	if _, _, err := swept(t, searchText(t, short), "-out", out, "-resume"); err == nil ||
		!strings.Contains(err.Error(), "seeds from 2 to 1") {
		t.Errorf("a seed less: %v", err)
	}
}

// TestKilledPretending: a sweep that is killed again and again, and whose runs are killed, ends as if nothing had
// happened, and no run that had ended is made twice.
func TestKilledPretending(t *testing.T) {
	out := filepath.Join(t.TempDir(), "sweep")
	file := searchText(t, twoMethods)
	args := []string{file, "-out", out, "-jobs=2"}
	for i, wait := range []time.Duration{60, 150, 90, 200} {
		c := exec.Command(os.Args[0], args...)
		c.Env = append(os.Environ(), "SWEEP_ROLE=sweep")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		for range 12000 { // until it has begun, which takes a minute at most on a busy machine
			if _, err := os.Stat(filepath.Join(out, "sweep.toml")); err == nil {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(wait * time.Millisecond)
		if i%2 == 0 {
			c.Process.Kill()
		} else {
			c.Process.Signal(syscall.SIGTERM)
		}
		c.Wait()
		args = []string{file, "-out", out, "-jobs=2", "-resume"}
	}
	if _, _, err := swept(t, args...); err != nil {
		t.Fatal(err)
	}
	for what, n := range journal(t, out) {
		if name, end := strings.CutPrefix(what, "end "); end {
			// One that was ending as it was told to stop ends once more; the chosen end twice, without and with the test texts.
			if most := 2; n > most {
				t.Errorf("%s ended %d times", name, n)
			}
		} else if n > 21 {
			t.Errorf("%s %d times: what was trained was lost", what, n)
		}
	}
	if table, _, _ := swept(t, file, "-out", out, "-table"); strings.Count(table, "4 of 4 | 0 |") != 2 ||
		strings.Count(table, "| 2 | 2.0") != 2 {
		t.Errorf("the table:\n%s", table)
	}
}
