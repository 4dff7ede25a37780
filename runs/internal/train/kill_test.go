package train

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// points are those of the save sequence at which APERTURE_FAILPOINT ends a process. The number is the time: the second
// set-aside and what follows it belong to the save after training, which adds the mean of the last checkpoints.
var points = []string{
	"begin", "file-created:3", "file-written:2", "file-synced:5", "files-synced:2", "manifest-synced",
	"folder-synced:2",
	"renamed", "parent-synced:2", "LATEST-written:2", "LATEST-renamed", "BEST-written", "BEST-renamed:2",
	"prune-renamed", "pruned:2", "set-aside",
}

// A run that is killed at each point of the save sequence, one after the other, and taken up again each time, ends as
// if nothing had happened. The newest valid checkpoint is what each process goes on from.
func TestKilledAtEachPointOfASave(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	settings := []string{"-steps=40", "-set=train.validate_every=2", "-set=train.average_last=4",
		"-set=decode.validation_beam=0", "-method=spectrum", "-set=schedule.kind=constant",
		"-set=train.learning_rate=0.08"}
	train(t, folder, append(settings, "-out=whole")...)
	settings = append(settings, "-out=killed")
	store := checkpoint.Store{Dir: filepath.Join(folder, "killed", "checkpoints")}
	expected := ""
	for i, point := range points {
		arguments := append(settings, "env:APERTURE_FAILPOINT="+point)
		if i > 0 {
			arguments = append(arguments, "-resume")
		}
		e := run(t, folder, arguments...)
		if e.code != -1 {
			t.Fatalf("%s: the process ended with %d\n%s", point, e.code, e.stderr)
		}
		if !strings.Contains(e.stderr, expected) {
			t.Errorf("%s: the process does not say %q:\n%s", point, expected, e.stderr)
		}
		expected = ""
		if newest, _, err := store.Latest(); err == nil {
			expected = "continuing from " + newest.Name() + "\n"
		}
	}
	e := mustRun(t, folder, append(settings, "-resume")...)
	if !strings.Contains(e.stderr, "continuing from step-40\n") {
		t.Errorf("the last process does not go on from the end:\n%s", e.stderr)
	}
	same(t, folder, "whole", "killed")
	if left, _ := filepath.Glob(filepath.Join(folder, "killed", "checkpoints", "*.tmp")); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
}

// A process that dies after it saved its best checkpoint and before it marked it marks it when it goes on, so that the
// results are those of the best one although no later validation is better.
func TestKilledBeforeTheBestIsMarked(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	// The first four updates train; from then on the rate is too small to change any score.
	settings := []string{"-steps=12", "-set=schedule.kind=cosine", "-set=schedule.warmup=0", "-set=schedule.period=4",
		"-set=decode.validation_beam=0", "-set=checkpoint.keep=1"}
	train(t, folder, append(settings, "-out=whole")...)
	if best := results(t, folder, "whole")["checkpoint"]; best != "step-4" {
		t.Fatalf("the best is %v, so that this test sees nothing", best)
	}
	settings = append(settings, "-out=killed")
	if e := run(t, folder, append(settings, "env:APERTURE_FAILPOINT=BEST-written")...); e.code != -1 {
		t.Fatalf("the process ended with %d\n%s", e.code, e.stderr)
	}
	mustRun(t, folder, append(settings, "-resume")...)
	same(t, folder, "whole", "killed")
	checkBest(t, filepath.Join(folder, "killed"))
}

// A process that is killed at any moment loses nothing but the updates since its last checkpoint.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	settings := []string{"-steps=150", "-set=train.validate_every=5", "-set=train.ema_decay=0.9",
		"-set=decode.validation_beam=0"}
	train(t, folder, append(settings, "-out=whole")...)
	settings = append(settings, "-out=killed")
	kills, next := 0, settings
	// milliseconds after the first updates: within, before and after saves
	for _, wait := range []int{10, 60, 110, 35} {
		c, lines := started(t, folder, next...)
		waitFor(t, lines, "update ")
		time.Sleep(time.Duration(wait) * time.Millisecond)
		c.Process.Kill() // it may have ended by itself
		if c.Wait(); c.ProcessState.ExitCode() == -1 {
			kills++
		}
		next = append(settings, "-resume")
		if _, err := os.Stat(filepath.Join(folder, "killed", "results.json")); err == nil {
			break
		}
	}
	if kills == 0 {
		t.Fatal("the run was over before it could be killed")
	}
	if _, err := os.Stat(filepath.Join(folder, "killed", "results.json")); err != nil {
		mustRun(t, folder, next...)
	}
	same(t, folder, "whole", "killed")
}

// A process that is killed while it still reads its texts has begun a run, which -resume takes up.
func TestKilledWhileItReads(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	text := filepath.Join(folder, "corpus", "train.de")
	if err := os.Rename(text, text+".kept"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(text, 0o600); err != nil { // nobody writes, so that the reader waits
		t.Fatal(err)
	}
	settings := []string{"-steps=4", "-out=early"}
	c, _ := started(t, folder, settings...)
	begun := filepath.Join(folder, "early", "config.toml")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(begun); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the folder does not say that a run has begun")
		}
	}
	c.Process.Kill()
	c.Wait()
	if err := os.Rename(text+".kept", text); err != nil {
		t.Fatal(err)
	}
	mustRun(t, folder, append(settings, "-resume")...)
	train(t, folder, "-steps=4", "-out=whole")
	same(t, folder, "whole", "early")
}

// SIGTERM, SIGINT and SIGHUP end the update, save and exit with 128+n; the run goes on from there, and the checkpoint
// that the signal asked for enters no average.
func TestSignals(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	settings := []string{"-steps=600", "-set=train.validate_every=200", "-set=train.average_last=3",
		"-set=checkpoint.keep=1", "-set=decode.validation_beam=0",
		"-set=schedule.kind=constant", "-set=train.learning_rate=0.03", "-set=train.max_tokens=60"}
	train(t, folder, append(settings, "-out=whole")...)
	if _, err := os.Stat(filepath.Join(folder, "whole", "checkpoints", "step-600", averageFile)); err != nil {
		t.Fatal("the mean is no better than the last checkpoint, so that this test would not see what enters it")
	}
	settings = append(settings, "-out=stopped")
	// The last two come between the checkpoints of updates 400 and 600, and would push that of 200 out.
	lines := []string{"update ", "update 40", "update "}
	for i, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		arguments := settings
		if i > 0 {
			arguments = append(settings, "-resume")
		}
		c, output := started(t, folder, arguments...)
		waitFor(t, output, lines[i])
		if i == 0 {
			if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			run(t, folder, append(settings, "-resume")...).fails(t, "a second process", 1,
				"stopped is in use by another process", "-out")
			if err := c.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		rest, _ := io.ReadAll(output)
		c.Wait()
		if code := c.ProcessState.ExitCode(); code != 128+int(s) ||
			!strings.Contains(string(rest), "continue with -resume") {
			t.Fatalf("after %v the process ended with %d:\n%s", s, code, rest)
		}
	}
	mustRun(t, folder, append(settings, "-resume")...)
	same(t, folder, "whole", "stopped")
}

// A log that nobody reads any more is a hangup: the run saves and ends. Under nohup, which has hangups ignored, it goes
// on.
func TestLogWithoutReader(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	settings := []string{"-steps=300", "-set=train.validate_every=100", "-set=decode.validation_beam=0"}
	train(t, folder, append(settings, "-out=whole")...)
	for out, code := range map[string]int{"lost": 129, "nohup": 0} {
		c := process(folder, append(settings, "-out="+out)...)
		if out == "nohup" {
			c.Args = append([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`}, c.Args...)
			c.Path = "/bin/sh"
		}
		pipe, err := c.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, bufio.NewReader(pipe), "update ")
		pipe.Close()
		c.Wait()
		log := read(t, folder, out, "train.log")
		if got := c.ProcessState.ExitCode(); got != code ||
			strings.Contains(log, "stopped by signal 1 (hangup)") != (code != 0) {
			t.Errorf("%s: the process ended with %d, want %d:\n%s", out, got, code, log)
		}
		if code != 0 {
			e := mustRun(t, folder, append(settings, "-out="+out, "-resume")...)
			if !strings.Contains(e.stderr, "continuing from step-") {
				t.Errorf("nothing was saved:\n%s", e.stderr)
			}
		}
		same(t, folder, "whole", out)
	}
}

// started starts the command and returns its standard error.
func started(t *testing.T, folder string, arguments ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	c := process(folder, arguments...)
	pipe, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c.ProcessState == nil {
			c.Process.Kill()
			c.Wait()
		}
	})
	return c, bufio.NewReader(pipe)
}

// waitFor reads lines until one begins with a text.
func waitFor(t *testing.T, lines *bufio.Reader, begin string) {
	t.Helper()
	for {
		line, err := lines.ReadString('\n')
		if strings.HasPrefix(line, begin) {
			return
		}
		if err != nil {
			t.Fatalf("the process ended without saying %q", begin)
		}
	}
}
