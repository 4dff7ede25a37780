package command

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
)

// InternalError is a panic. Its user reads the text of the error that the program panicked with, or, for anything else
// and for errors of the Go runtime, that this is a defect of the program.
type InternalError struct {
	Value any    // what the program panicked with
	Stack []byte // the place
	Kept  string // the file that holds the stack; empty while none does
}

func (e *InternalError) Error() string {
	var defect runtime.Error
	if err, ok := e.Value.(error); ok && !errors.As(err, &defect) {
		return err.Error()
	}
	return fmt.Sprintf("internal error: %v: this is a defect of Aperture, please report it", e.Value)
}

// Unwrap returns what the program panicked with, where that is an error.
func (e *InternalError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Guard runs f and returns its error. A panic of f becomes an *InternalError with its stack, and so does an error that
// hands on the panic of another goroutine (as corpus.Panic).
func Guard(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &InternalError{Value: value, Stack: debug.Stack()}
		}
	}()
	err = f()
	var elsewhere interface{ PanicStack() []byte }
	if internal := new(InternalError); errors.As(err, &elsewhere) && !errors.As(err, &internal) {
		return &InternalError{Value: elsewhere, Stack: elsewhere.PanicStack()}
	}
	return err
}

// On runs body guarded where main runs it, as torch.Main does on the torch thread.
func On(main func(body func() error) error, body func() error) error {
	return main(func() error { return Guard(body) })
}

// keepStack writes the stack of an *InternalError to a file of its own, where no log holds it.
func keepStack(err error) {
	var internal *InternalError
	if !errors.As(err, &internal) || internal.Kept != "" {
		return
	}
	file, err := os.CreateTemp("", "aperture-*.log")
	if err != nil {
		return
	}
	defer file.Close()
	if _, err := fmt.Fprintf(file, "%v\n\n%s", internal.Value, internal.Stack); err == nil {
		internal.Kept = file.Name()
	}
}
