package command

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
)

// UsageError is a command line or configuration that means nothing: an unknown flag, method, key or value. Exit gives
// it exit code 2.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the error within.
func (e *UsageError) Unwrap() error { return e.Err }

// Usagef makes a *UsageError.
func Usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// ErrHelp says that help was asked for and has been printed. Exit gives it exit code 0.
var ErrHelp = errors.New("help was printed")

// ExitCode returns the exit code of err: 0 for nil and ErrHelp, 2 for a *UsageError and for an error that names a
// variable of the environment, 128+n for a *SignalError, 1 for anything else.
func ExitCode(err error) int {
	var usage *UsageError
	var stopped *SignalError
	var ended interface{ Code() int }          // of processes that were started
	var setting interface{ Variable() string } // of the environment, which holds what means nothing
	switch {
	case err == nil || errors.Is(err, ErrHelp):
		return 0
	case errors.As(err, &stopped):
		return 128 + int(stopped.Signal)
	case errors.As(err, &usage) || errors.As(err, &setting):
		return 2
	case errors.As(err, &ended):
		return ended.Code()
	}
	return 1
}

var resumes bool

// Resumes says that this program can go on with -resume: what it says of a full disk then names that.
func Resumes() { resumes = true }

// Explain returns err with a text for its reader where the system caused it: a full disk, or a file or folder that is
// not there.
func Explain(err error) error {
	if resumes {
		err = files.DiskFullSay(err, "run again with -resume")
	}
	return files.Missing(files.DiskFull(err))
}

// Message returns the sentence that stands for err on screen, explained, and for a panic with the file that holds its
// stack.
func Message(err error) string {
	text := "aperture: " + OneLine(Explain(err).Error())
	var internal *InternalError
	if errors.As(err, &internal) && internal.Kept != "" {
		text += " (details in " + internal.Kept + ")"
	}
	return text
}

// Exit ends the process with ExitCode(err), after it has printed err as one sentence on standard error where there is
// anything to say. The stack of an *InternalError goes to a file, which the sentence names. Results that could not be
// written to Stdout are an error too.
func Exit(err error) {
	err = stdout.finish(err)
	keepStack(err)
	if err != nil && !errors.Is(err, ErrHelp) && err.Error() != "" {
		fmt.Fprintln(os.Stderr, Message(err))
	}
	os.Exit(ExitCode(err))
}

func OneLine(text string) string {
	return files.Shown(strings.Join(strings.Fields(text), " "))
}
