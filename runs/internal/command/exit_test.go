package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/aperture-ml/aperture/internal/files"
)

func TestExit(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "/x/step-3.tmp", Err: syscall.ENOSPC}
	for _, test := range []struct {
		err     error
		code    int
		message string
	}{
		{nil, 0, ""},
		{ErrHelp, 0, ""},
		{errors.New("two\nlines"), 1, "aperture: two lines"},
		{fmt.Errorf("a: %w", Usagef("bad flag")), 2, "aperture: a: bad flag"},
		{&SignalError{Signal: syscall.SIGTERM}, 143,
			"aperture: stopped by signal 15 (terminated): run again with -resume to continue"},
		{&SignalError{Signal: syscall.SIGINT}, 130, ""},
		{full, 1, "aperture: the disk that holds /x/step-3.tmp is full: free space and run the same command again"},
		{files.DiskFull(fmt.Errorf("saving: %w", full)), 1,
			"aperture: the disk that holds /x/step-3.tmp is full: free space and run the same command again"},
		{&fs.PathError{Op: "write", Path: "/x", Err: syscall.EIO}, 1, "aperture: write /x: input/output error"},
	} {
		if code := ExitCode(test.err); code != test.code {
			t.Errorf("%v: exit code %d, want %d", test.err, code, test.code)
		}
		if test.message != "" && Message(test.err) != test.message {
			t.Errorf("%v: says %q, want %q", test.err, Message(test.err), test.message)
		}
	}
	if _, missing := os.Open("/nowhere/x"); Message(missing) != "aperture: there is no folder /nowhere, and so no "+
		"/nowhere/x" {
		t.Errorf("of a missing folder it says %q", Message(missing))
	}
	defer func(before bool) { resumes = before }(resumes)
	if Resumes(); Message(files.DiskFull(full)) != "aperture: the disk that holds /x/step-3.tmp is full: free space "+
		"and run again with -resume" {
		t.Errorf("a program that resumes says %q", Message(full))
	}
	if !errors.Is(files.DiskFull(full), syscall.ENOSPC) {
		t.Error("a full disk is no longer known as one")
	}
}

func TestInterruptible(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		ctx, stop := Interruptible(context.Background())
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		var stopped *SignalError
		if err := syscall.Kill(os.Getpid(), s); err != nil { // as timeout does
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond) // the process would end
		if !errors.As(context.Cause(ctx), &stopped) || stopped.Signal != s || ExitCode(stopped) != 128+int(s) {
			t.Errorf("after %v the cause is %v", s, context.Cause(ctx))
		}
		stop()
	}
}

// A screen without a reader is one hangup, however much is written to it; another hangup, or the signal that a service
// manager sends with it, does not end the process before it has saved.
func TestScreen(t *testing.T) {
	ctx, stop := Interruptible(context.Background())
	defer stop()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	screen := Screen(w)
	fmt.Fprintln(screen, "read")
	r.Close()
	for range 3 {
		if _, err := fmt.Fprintln(screen, "lost"); !errors.Is(err, syscall.EPIPE) {
			t.Fatalf("a pipe without a reader gives %v", err)
		}
	}
	<-ctx.Done()
	if Stopped(ctx) != int(syscall.SIGHUP) {
		t.Errorf("the cause is %v", context.Cause(ctx))
	}
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM} {
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(50 * time.Millisecond) // the process would end
}
