package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/runs/internal/command"
)

// TestMain lets the test's binary be three programs: the tests, the sweep (so that it can be killed), and a program
// that pretends to train.
func TestMain(m *testing.M) {
	switch os.Getenv("SWEEP_ROLE") {
	case "sweep":
		ctx, _ := command.Interruptible(context.Background())
		os.Setenv("SWEEP_ROLE", "train")
		command.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
	case "train":
		pretend(os.Args[1:])
		return
	}
	os.Exit(m.Run())
}

// pretend takes the flags of a training run, sleeps for its updates, and leaves the files of one. Its validation loss
// is best at the learning rate 0.001, falls with its length, and differs with the seed. A rate above 0.5 fails, one of
// 0.4 is killed, and arguments that SWEEP_FAILS, an expression, matches fail too.
func pretend(args []string) {
	given := map[string]string{"steps": "20", "train.epochs": "0", "train.learning_rate": "0.01", "report.test": "true",
		"model.input_noise": "0", "model.input_noise_end": "0", "schedule.kind": "constant"}
	for _, arg := range args {
		name, value, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if name == "set" {
			name, value, _ = strings.Cut(value, "=")
		}
		given[name] = value
	}
	if given["train.learning_rat"] != "" {
		fmt.Fprintln(os.Stderr, "aperture: -set: unknown key train.learning_rat: did you mean train.learning_rate?")
		os.Exit(2)
	}
	config := fmt.Sprintf("run = \"pretend\"\npreset = \"none\"\n[objective]\nmethod = %q\n[train]\nseed = %s\nsteps "+
		"= %s\nepochs = %s\nlearning_rate = %s\n[schedule]\nkind = %q\n[report]\ntest = %s\n[model]\n"+
		"input_noise = %s\ninput_noise_end = %s\n", given["method"], given["seed"], given["steps"],
		given["train.epochs"], given["train.learning_rate"], strings.Trim(given["schedule.kind"], `"`),
		given["report.test"], given["model.input_noise"], given["model.input_noise_end"])
	if _, ask := given["print-config"]; ask {
		fmt.Print(config)
		return
	}
	out := given["out"]
	lock, _ := files.Lock(out) // as a run does: one that is still ending is waited for
	defer lock.Close()
	path := func(name string) string { return filepath.Join(out, name) }
	note := func(words string) { // every start and end, in one file for all runs
		f, _ := os.OpenFile(filepath.Join(filepath.Dir(filepath.Dir(out)), "journal"),
			os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		fmt.Fprintf(f, "%s %s\n", words, filepath.Base(out))
		f.Close()
	}
	_, resume := given["resume"]
	if _, err := os.Stat(path("config.toml")); resume != (err == nil) {
		fmt.Fprintln(os.Stderr, "aperture: -resume does not fit the folder")
		os.Exit(1)
	}
	number := func(key string) float64 { x, _ := strconv.ParseFloat(given[key], 64); return x }
	step := 0
	if text, err := os.ReadFile(path("step")); err == nil {
		step, _ = strconv.Atoi(string(text))
	}
	_, err := os.Stat(path("results.json"))
	if err == nil && step >= int(number("steps")) && given["report.test"] == "false" {
		fmt.Fprintln(os.Stderr, "aperture: the run is finished")
		os.Exit(1)
	}
	os.Remove(path("results.json"))
	files.Write(path("config.toml"), []byte(config))
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	for ; step < int(number("steps")); step++ {
		select {
		case s := <-stop:
			os.Exit(128 + int(s.(syscall.Signal)))
		case <-time.After(2 * time.Millisecond):
		}
		os.WriteFile(path("step"), []byte(fmt.Sprint(step+1)), 0o644)
		note("update")
	}
	fails := os.Getenv("SWEEP_FAILS")
	if fails != "" && regexp.MustCompile(fails).MatchString(strings.Join(args, " ")) {
		fmt.Fprintln(os.Stderr, "aperture: too little memory")
		os.Exit(1)
	}
	if number("train.learning_rate") == 0.4 {
		fmt.Fprintln(os.Stderr, "valid: update 20")
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	if number("train.learning_rate") > 0.5 {
		fmt.Fprintln(os.Stderr, "aperture: the loss is not finite")
		os.Exit(1)
	}
	loss := 2 + math.Abs(math.Log10(number("train.learning_rate")/0.001)) + 1/number("steps") + 0.001*number("seed")
	switch given["method"] {
	case "cosreg":
		loss -= 0.01
	case "vmf":
		loss -= 200
	}
	test := map[string]any{}
	if given["report.test"] == "true" {
		test["test"] = map[string]float64{"nll": loss, "ppl": math.Exp(loss)}
	}
	note("end")
	text, _ := json.Marshal(map[string]any{"run": "pretend", "method": given["method"], "seed": number("seed"),
		"updates": step, "epochs": 1.5, "train_seconds": 0.1,
		"valid": map[string]float64{"nll": loss}, "test": test})
	files.Write(path("results.json"), text) // whole, as a run does
}

// swept runs the sweep in this process.
func swept(t *testing.T, args ...string) (out, log string, err error) {
	t.Helper()
	t.Setenv("SWEEP_ROLE", "train")
	var stdout, stderr bytes.Buffer
	err = run(context.Background(), args, &stdout, &stderr)
	return stdout.String(), stderr.String(), err
}

// searchText is a file with the pretending program and some more lines.
func searchText(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "search.toml")
	text := fmt.Sprintf("command = %q\n%s\n", os.Args[0], strings.Join(lines, "\n"))
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// journal counts what the runs of a sweep did, by "what folder".
func journal(t *testing.T, folder string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "journal"))
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for line := range strings.Lines(string(text)) {
		counts[strings.TrimSpace(line)]++
	}
	return counts
}

const twoMethods = `methods = ["mle", "cosreg"]
search = "grid"
seeds = 2
[keys]
train.learning_rate = [0.01, 0.001]
[method.cosreg]
objective.gamma = [1.0, 2.0]`

// TestGrid: the control has the trials of the method with the larger grid, the validation text chooses, and only
// what it chose is tested, with all seeds.
func TestGrid(t *testing.T) {
	out := filepath.Join(t.TempDir(), "sweep")
	table, log, err := swept(t, searchText(t, twoMethods), "-out", out, "-jobs=2")
	if err != nil {
		t.Fatal(err)
	}
	found := journal(t, out)
	for _, want := range []string{"mle-001", "mle-002", "mle-003", "mle-004", "cosreg-001", "cosreg-004",
		"cosreg-seed2"} {
		if found["update "+want] != 20 {
			t.Errorf("%s made %d updates of 20", want, found["update "+want])
		}
	}
	for _, want := range []string{"| mle | 4 of 4 | 0 | 2.0510 | train.learning_rate=0.001 | 2 | 2.0515 ± 0.0007 | " +
		"test ppl 7.78 ± 0.01 |",
		"| cosreg | 4 of 4 | 0 | 2.0410 | train.learning_rate=0.001 objective.gamma=1 | 2 |"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	if !strings.Contains(log, "left") || !strings.Contains(log, "[1/12]") || !strings.Contains(log, "[12/12]") ||
		strings.Count(log, "chosen, seed") != 4 {
		t.Errorf("progress:\n%s", log)
	}
	tested := 0
	all, _ := filepath.Glob(filepath.Join(out, "trials", "*", "results.json"))
	for _, path := range all {
		if o, err := read(filepath.Dir(path)); err != nil || len(o.test) > 0 {
			tested++
		}
	}
	// The smaller grid comes twice, so that the search has made the control's second seed already.
	if len(all) != 8 || tested != 3 {
		t.Errorf("%d of %d trials are tested, want 3 of 8: mle with both seeds, cosreg with the first", tested,
			len(all))
	}
	if link, err := os.Readlink(filepath.Join(out, "chosen", "mle-seed1")); err != nil || link != "../trials/mle-002" {
		t.Errorf("the chosen of seed 1 is %q, %v", link, err)
	}
	// Once more changes nothing, and neither does looking.
	again, _, err := swept(t, searchText(t, twoMethods), "-out", out, "-resume")
	shown, _, err2 := swept(t, searchText(t, twoMethods), "-out", out, "-table")
	if err != nil || err2 != nil || again != table || shown != table || journal(t, out)["end mle-001"] != 1 {
		t.Errorf("again: %v, %v\n%s", err, err2, again)
	}
}

// TestHalving: each stage trains fewer trials longer, and what has trained goes on instead of beginning anew.
func TestHalving(t *testing.T) {
	out := filepath.Join(t.TempDir(), "sweep")
	table, _, err := swept(t, searchText(t, `methods = ["mle", "cosreg"]
search = "halving"
trials = 6
keep = 2
seeds = 1
args = ["-set=train.steps=20"]
jobs = 2
[keys]
"train.learning_rate" = {log = [1e-4, 1e-1]}
[method.cosreg]
model.input_noise = [0.1]
model.input_noise_end = [0.1]`), "-out", out)
	if err != nil {
		t.Fatal(err)
	}
	updates := map[int]int{}
	for what, n := range journal(t, out) {
		if strings.HasPrefix(what, "update ") {
			updates[n]++
		}
	}
	if updates[5] != 6 || updates[10] != 2 || updates[20] != 4 {
		t.Errorf("trials by updates: %v, want 6 of 5, 2 of 10 and 4 of 20\n%s", updates, table)
	}
	if !strings.Contains(table, "| mle | 6 of 6 | 0 |") {
		t.Errorf("the table:\n%s", table)
	}
	if err := os.WriteFile(filepath.Join(out, "rung-1.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if shown, _, err := swept(t, filepath.Join(out, searchFile), "-out", out, "-table"); err == nil || shown != "" ||
		!strings.Contains(err.Error(), "rung-1.json") || !strings.Contains(err.Error(), "restore it from a copy") {
		t.Errorf("with a damaged file of what went on: %v\n%s", err, shown)
	}
}

// checkProgress: the first job that ends is the first-th, each one after it counts one more, and the last is the last
// of all.
func checkProgress(t *testing.T, log string, first, last int) {
	t.Helper()
	counted := first
	for _, line := range regexp.MustCompile(`\[(\d+)/(\d+)\]`).FindAllStringSubmatch(log, -1) {
		if line[1] != strconv.Itoa(counted) || line[2] != strconv.Itoa(last) {
			t.Errorf("%s where [%d/%d] is due:\n%s", line[0], counted, last, log)
			return
		}
		counted++
	}
	if counted != last+1 {
		t.Errorf("progress ends at %d of %d:\n%s", counted-1, last, log)
	}
}

// TestMoreMethods: a method joins a random search that has ended; what had run is left as it is.
func TestMoreMethods(t *testing.T) {
	out := filepath.Join(t.TempDir(), "sweep")
	const two = `trials = 3
seeds = 2
[keys]
train.learning_rate = {log = [1e-4, 1e-1]}
[method.cosreg]
objective.gamma = [1.0, 2.0]`
	before, _, err := swept(t, searchText(t, `methods = ["mle", "cosreg"]`, two), "-out", out)
	if err != nil {
		t.Fatal(err)
	}
	made := journal(t, out)
	after, log, err := swept(t, searchText(t, `methods = ["mle", "spectrum", "cosreg"]`, two,
		"[method.spectrum]\nobjective.lambda_prior = [1.0, 3.0]"), "-out", out, "-resume")
	if err != nil {
		t.Fatal(err)
	}
	checkProgress(t, log, 11, 15)
	now := journal(t, out)
	for what, n := range made {
		if now[what] != n {
			t.Errorf("%s: %d, before %d", what, now[what], n)
		}
	}
	if now["end spectrum-001"] == 0 || now["end spectrum-003"] == 0 || now["end spectrum-seed2"] != 1 {
		t.Errorf("the new method's runs: %v", now)
	}
	for line := range strings.Lines(before) {
		if strings.HasPrefix(line, "| mle |") && !strings.Contains(after, line) {
			t.Errorf("the table lacks %q:\n%s", line, after)
		}
	}
	// With a method less, the sweep would leave runs behind that its table does not know.
	if _, _, err := swept(t, searchText(t, `methods = ["mle", "cosreg"]`, two), "-out", out, "-resume"); err == nil ||
		!strings.Contains(err.Error(), "since the sweep began") {
		t.Errorf("a method less: %v", err)
	}
}

// TestDryRun: every trial is checked and its command printed; nothing is trained, and what has run is left out.
func TestDryRun(t *testing.T) {
	file, folder := searchText(t, "jobs = 2", "minutes = 30.0", twoMethods), filepath.Join(t.TempDir(), "sweep")
	out, _, err := swept(t, file, "-out", folder, "-dry-run")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"-method=mle -seed=1 -threads=1 -set=train.learning_rate=0.001 " +
		"-set=report.test=false -out=" + folder, "of which 8 are to be trained", "4 more runs",
		"about 2h30m0s, at 30 minutes each by minutes"} {
		if !strings.Contains(out, want) {
			t.Errorf("it lacks %q:\n%s", want, out)
		}
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("it made the sweep's folder")
	}
	if _, _, err := swept(t, file, "-out", folder); err != nil {
		t.Fatal(err)
	}
	if out, _, err := swept(t, file, "-out", folder, "-dry-run"); err != nil ||
		!strings.Contains(out, "of which 0 are to be trained") ||
		!strings.Contains(out, "by the trials that have run") {
		t.Errorf("%v:\n%s", err, out)
	}
	wrong := searchText(t, "search = \"grid\"", "[keys]", "train.learning_rat = [0.001]")
	if _, _, err := swept(t, wrong, "-out", filepath.Join(t.TempDir(), "wrong")); err == nil ||
		!strings.Contains(err.Error(), "did you mean train.learning_rate?") {
		t.Errorf("a wrong key: %v", err)
	}
	text, err := os.ReadFile(wrong)
	if err != nil {
		t.Fatal(err)
	}
	ours := regexp.MustCompile(`command = .*`).ReplaceAll(text, []byte(`command = "wmt14"`))
	if err := os.WriteFile(wrong, ours, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := swept(t, wrong, "-dry-run"); err == nil ||
		!strings.Contains(err.Error(), "did you mean train.learning_rate?") {
		t.Errorf("a wrong key of a program under runs/: %v", err)
	}
	if _, _, err := swept(t, file, "-dry-run", "-resume"); err == nil {
		t.Error("-dry-run goes with -resume")
	}
}

// TestDryRunRunsNothing: a program that a file names by its path is not run, not even for its configuration.
func TestDryRunRunsNothing(t *testing.T) {
	folder := t.TempDir()
	program, file := filepath.Join(folder, "program"), filepath.Join(folder, "search.toml")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ntouch "+folder+"/ran\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for search, want := range map[string]string{
		"search = \"random\"": "8 trials of each of 1 methods, of which 8 are to be trained",
		"search = \"halving\"\nargs = [\"-set\", \"train.steps=90\"]": "then the best 3 of each go on to 30 " +
			"steps; then the best 1 of each go on to 90 steps.\nThen the best of each method by the validation loss " +
			"is trained with the seeds 1 to 3 and tested: 3 more runs.\n",
		"search = \"halving\"\nargs = [\"-set=model.width=9\"]": "set train.steps or train.epochs in " +
			"args",
		"search = \"halving\"\nargs = [\"-set=train.epochs=9\", \"-set=model.input_noise=0.1\"]": "then the best 3 " +
			"of each go on to 3 epochs",
	} {
		if err := os.WriteFile(file, fmt.Appendf(nil,
			"command = %q\n%s\n[keys]\nmodel.dropout = {uniform = [0.1, 0.4]}\n", program, search), 0o644); err != nil {
			t.Fatal(err)
		}
		out, _, err := swept(t, file, "-out", filepath.Join(folder, "sweep"), "-dry-run")
		if err != nil {
			out = err.Error()
		}
		if !strings.Contains(out, want) || err == nil && !strings.Contains(out, program+" was not run") {
			t.Errorf("%s: it lacks %q:\n%s", search, want, out)
		}
		if _, err := os.Stat(filepath.Join(folder, "ran")); err == nil {
			t.Fatalf("%s: the program was run", search)
		}
	}
}
