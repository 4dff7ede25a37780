package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
)

// Stdout is standard output, where programs write results and help. Exit tells a write that failed, so that nobody
// takes a part for the whole; who writes there need not look.
var Stdout io.Writer = stdout

var stdout = &output{to: os.Stdout}

// output remembers the first write that failed.
type output struct {
	to io.WriteCloser

	mu  sync.Mutex
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// finish closes the output and gives what became of the program: err, or that what was written is not whole. A disk may
// tell that it is full when a file is closed.
func (o *output) finish(err error) error {
	closed := o.to.Close()
	o.mu.Lock()
	defer o.mu.Unlock()
	failed := o.err
	if failed == nil && !errors.Is(closed, os.ErrClosed) {
		failed = closed
	}
	if failed == nil || err != nil && !errors.Is(err, ErrHelp) && !errors.Is(err, failed) {
		return err
	}
	return &outputError{failed}
}

// outputError says that results could not be written to standard output.
type outputError struct{ err error }

// Error is empty where the reader of a pipe wanted no more, as head does.
func (e *outputError) Error() string {
	if errors.Is(e.err, syscall.EPIPE) {
		return ""
	}
	cause := e.err
	for inner := errors.Unwrap(cause); inner != nil; inner = errors.Unwrap(cause) {
		cause = inner // without the operation and the path
	}
	return fmt.Sprintf("standard output could not be written, so that results are missing there: %v", cause)
}

// Code is the exit code; that of a closed pipe is the one of a program that SIGPIPE ends.
func (e *outputError) Code() int {
	if errors.Is(e.err, syscall.EPIPE) {
		return 128 + int(syscall.SIGPIPE)
	}
	return 1
}
