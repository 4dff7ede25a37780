package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sampleSearch trains tiny translators on the built-in sample.
const sampleSearch = `command = %q
args = ["-set=data.sample_size=200", "-set=data.merges=100", "-set=model.width=16", "-set=model.ffn_width=16", "-set=model.heads=2",
  "-set=model.encoder_layers=1", "-set=model.decoder_layers=1", "-set=train.steps=30", "-set=train.validate_every=10", "-set=train.average_last=2",
  "-set=checkpoint.every=5", "-set=decode.beam=1", "-set=decode.max_length_a=0.3", "-set=decode.validation_beam=0",
  "-set=report.plots=false", "-set=report.tensorboard=false", "-set=report.samples=0"]
methods = ["mle", "cosreg"]
search = "random"
trials = 2
seeds = 2
jobs = 2
[keys]
train.learning_rate = {log = [0.001, 0.01]}
[method.cosreg]
objective.gamma = {log = [0.1, 10.0]}
`

// TestKilledOnTheSample: a sweep over the built-in sample that is killed at three moments ends with the scores of an
// undisturbed one, bit for bit, and no finished run is made again.
func TestKilledOnTheSample(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it trains a dozen small models twice")
	}
	folder := t.TempDir()
	program := filepath.Join(folder, "wmt14")
	if said, err := exec.Command("go", "build", "-o", program, "../wmt14").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	file := filepath.Join(folder, "search.toml")
	if err := os.WriteFile(file, fmt.Appendf(nil, sampleSearch, program), 0o644); err != nil {
		t.Fatal(err)
	}
	whole, killed := filepath.Join(folder, "whole"), filepath.Join(folder, "killed")
	if _, log, err := swept(t, file, "-out", whole); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	// A trial that was tested later has the results of a run that was tested at once.
	lines, err := os.ReadFile(filepath.Join(whole, "chosen", "mle-seed1", "command.txt"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(lines), "\n")
	at := filepath.Join(folder, "undisturbed")
	again := append(strings.Fields(first)[1:], "-set=report.test=true", "-out="+at)
	if said, err := exec.Command(program, again...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if diff := cmp.Diff(lasting(t, filepath.Join(at, "results.json")),
		lasting(t, filepath.Join(whole, "chosen", "mle-seed1", "results.json"))); diff != "" {
		t.Errorf("tested at once and later:\n%s", diff)
	}
	begin := func(args ...string) *exec.Cmd {
		c := exec.Command(os.Args[0], append([]string{file, "-out", killed}, args...)...)
		c.Env = append(os.Environ(), "SWEEP_ROLE=sweep")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	finished := func() (names []string) {
		names, _ = filepath.Glob(filepath.Join(killed, "*", "*", "results.json"))
		return names
	}
	var args []string
	for kill, after := range []int{0, 1, 3} { // finished runs, and then some more time
		c := begin(args...)
		for range 1200 {
			if len(finished()) >= after {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(time.Duration(300+400*kill) * time.Millisecond)
		c.Process.Signal([]syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGKILL}[kill])
		c.Wait()
		if _, err := os.Stat(filepath.Join(killed, "sweep.toml")); err == nil {
			args = []string{"-resume"}
		}
	}
	before := finished()
	if _, log, err := swept(t, append(args, file, "-out", killed)...); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	want, _ := filepath.Glob(filepath.Join(whole, "*", "*", "results.json"))
	if len(want) != 8 || len(before) == 0 {
		t.Errorf("%d runs in the undisturbed sweep, want 4 trials and 4 chosen, of which 2 are trials too; %d when "+
			"the killed one went on", len(want), len(before))
	}
	for _, path := range want {
		name, _ := filepath.Rel(whole, path)
		if diff := cmp.Diff(lasting(t, path), lasting(t, filepath.Join(killed, name))); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		// The command line of each process that ran in the folder; a finished run is taken up again for its test texts only.
		lines, err := os.ReadFile(filepath.Join(killed, filepath.Dir(name), "command.txt"))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(lines), "\n"); n > 5 {
			t.Errorf("%s was begun %d times:\n%s", name, n, lines)
		}
	}
}

// lasting is a results.json without what depends on the moment.
func lasting(t *testing.T, path string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"train_seconds", "tokens_per_s", "peak_rss_bytes", "peak_device_bytes", "code"} {
		delete(all, name)
	}
	if best, ok := all["best"].(map[string]any); ok {
		delete(best, "seconds")
	}
	return all
}
