package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/term"
)

// Stdout is standard output, where programs write results and help. Exit tells a write that failed, so that nobody
// takes a part for the whole; who writes there need not look.
var Stdout io.Writer = stdout

var stdout = &output{to: os.Stdout, terminal: term.IsTerminal(int(os.Stdout.Fd()))}

// output remembers the first write that failed.
type output struct {
	to       io.WriteCloser
	terminal bool // results may be words of a corpus, and a terminal would obey some of them

	mu  sync.Mutex
	err error
}

func (o *output) Write(p []byte) (int, error) {
	if o.terminal {
		p = tame(p)
	}
	n, err := o.to.Write(p)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// tame puts a question mark in place of each byte of the control characters that move a cursor or begin a command:
// those below a space but tab and line feed, U+007F, and U+0080 to U+009F. Other programs get what was written.
func tame(p []byte) []byte {
	out := slices.Clone(p)
	for i, b := range p {
		switch {
		case b < ' ' && b != '\n' && b != '\t', b == 0x7F:
			out[i] = '?'
		case b >= 0x80 && b < 0xA0 && i > 0 && p[i-1] == 0xC2:
			out[i-1], out[i] = '?', '?'
		}
	}
	return out
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
