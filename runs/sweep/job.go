package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/internal/keys"
)

// job is a process that is to run.
type job struct {
	folder  string
	args    []string // of the program, without -out and -resume
	words   string   // what it is, for the screen
	weight  float64  // of its work, in full trainings
	failure string   // name in the folder of the file that keeps why it failed
}

// kills is how often a run that something kills is taken up again before it counts as failed.
const kills = 3

// errFailed says that a run failed; the sentence is its own.
type errFailed struct{ words string }

func (e errFailed) Error() string { return e.words }

// run trains in the job's folder, on some processors (nil: on any), until the run has finished. It takes up what the
// folder holds. When ctx ends, the run saves and stops.
func (j job) run(ctx context.Context, program string, cpus []int) error {
	if err := os.MkdirAll(j.folder, 0o777); err != nil {
		return files.DiskFull(err)
	}
	for try := 1; ; try++ {
		if err := waitUntilFree(ctx, j.folder); err != nil {
			return err
		}
		words, err := j.once(ctx, program, cpus)
		if err == nil || ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			return err
		}
		code := exit.ExitCode() // -1: by a signal that it did not handle
		switch killed := code < 0 || code > 128; {
		case killed && try < kills:
			continue
		case killed: // without last words of its own
			ends := "log is empty"
			if words != "" {
				ends = "log ends with: " + words
			}
			words = fmt.Sprintf("%v, %d times; its %s", err, kills, ends)
		case words == "":
			words = err.Error()
		}
		return errFailed{words}
	}
}

// once runs the program and returns its last words on standard error.
func (j job) once(ctx context.Context, program string, cpus []int) (words string, err error) {
	args := append(slices.Clone(j.args), "-out="+j.folder)
	if files.Exists(filepath.Join(j.folder, keys.File)) || files.Exists(filepath.Join(j.folder, "command.txt")) {
		args = append(args, "-resume")
	}
	log, err := os.OpenFile(j.folder+".log", os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return "", files.DiskFull(err)
	}
	defer log.Close()
	start, err := log.Seek(0, 2)
	if err != nil {
		return "", err
	}
	c := exec.CommandContext(ctx, program, args...)
	c.Stdout, c.Stderr = log, log
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) } // it saves and ends; it is never killed
	c.SysProcAttr = apart()
	err = onThread(cpus, c.Run)
	said, _ := os.ReadFile(log.Name())
	lines := strings.Split(strings.TrimSpace(string(said[min(int(start), len(said)):])), "\n")
	return strings.TrimPrefix(lines[len(lines)-1], "aperture: "), err
}

// onThread calls f on a system thread that may use some processors only, which a process that f starts inherits. The
// thread stays as long as f: the signal of a parent's death comes with that of its thread.
func onThread(cpus []int, f func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine, and its processors with it
		if cpus != nil {
			setAffinity(cpus)
		}
		result <- f()
	}()
	return <-result
}

// waitUntilFree waits for a run folder's lock: the run of a sweep that was killed may still be saving.
func waitUntilFree(ctx context.Context, folder string) error {
	for range 600 {
		lock, err := files.Lock(folder)
		if err == nil {
			return lock.Close()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return fmt.Errorf("%s is held by another process, which did not end within a minute: "+
		"stop it, then run the sweep again with -resume", folder)
}
