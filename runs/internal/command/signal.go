package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// SignalError is a run that a signal ended after a clean save. Exit gives it exit code 128+n.
type SignalError struct {
	Signal syscall.Signal
	Then   string // what stays, or what to do; empty: run again with -resume to continue
}

func (e *SignalError) Error() string {
	return fmt.Sprintf("stopped by signal %d (%v): %s", int(e.Signal), e.Signal,
		cmp.Or(e.Then, "run again with -resume to continue"))
}

// StoppedSay gives a signal that ended a run other advice. Other errors stay as they are.
func StoppedSay(err error, then string) error {
	if stopped := new(SignalError); errors.As(err, &stopped) {
		return &SignalError{stopped.Signal, then}
	}
	return err
}

// Stopped is the number of the signal that ended a context of Interruptible, 0 where none did, for a process to tell
// others.
func Stopped(ctx context.Context) int {
	if stopped := new(SignalError); errors.As(context.Cause(ctx), &stopped) {
		return int(stopped.Signal)
	}
	return 0
}

// StoppedBy is the error of the signal of that number, nil for 0.
func StoppedBy(number int) error {
	if number == 0 {
		return nil
	}
	return &SignalError{Signal: syscall.Signal(number)}
}

// Interruptible returns a context that SIGINT, SIGTERM or SIGHUP cancels, with a *SignalError as its cause: a run
// finishes its update, saves and returns context.Cause. SIGINT or SIGTERM more than a second later ends the process at
// once, with nothing saved; timeout sends its signal twice, and a closing terminal SIGHUP twice or beside another
// signal. Under nohup SIGHUP stays ignored. A write to a closed pipe is an error from then on and no longer ends the
// process, so that a log without a reader costs no update (see Screen). stop gives the signals back their usual effect.
func Interruptible(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	arrived := make(chan os.Signal, 8)
	signal.Notify(arrived, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(arrived, syscall.SIGHUP)
	}
	OutliveReaders()
	done := make(chan struct{})
	go func() {
		var first time.Time
		for {
			select {
			case s := <-arrived:
				stopped := &SignalError{Signal: s.(syscall.Signal)}
				if s != syscall.SIGHUP && first.IsZero() {
					first = time.Now()
				} else if s != syscall.SIGHUP && time.Since(first) > time.Second {
					fmt.Fprintln(os.Stderr, "aperture: second signal: stopped without saving")
					os.Exit(ExitCode(stopped))
				}
				cancel(stopped)
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(arrived)
		close(done)
		cancel(nil)
	}
}

// OutliveReaders makes a write to a closed pipe an error, which no longer ends the process: until that ends, since its
// last sentence goes to such a pipe too. To ignore the signal instead would make children ignore it.
func OutliveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// Screen writes to w, where a program of an Interruptible context shows its log. Once a pipe there has lost its reader
// the process gets SIGHUP, which is what a closed terminal sends; under nohup it goes on without a screen.
func Screen(w io.Writer) io.Writer { return &screen{Writer: w} }

type screen struct {
	io.Writer
	lost sync.Once
}

func (s *screen) Write(p []byte) (int, error) {
	n, err := s.Writer.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		s.lost.Do(func() {
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				self.Signal(syscall.SIGHUP) // Windows has no such signal, and goes on without a screen
			}
		})
	}
	return n, err
}
