package torch

import (
	"errors"
	"fmt"
	"strings"
)

// Error is what a tensor operator reports: a shape that does not fit, a tensor
// that was used after its scope was closed, memory that is not there.
type Error struct {
	Op          string    // the operator, as named in this package
	Shapes      [][]int64 // shapes of its operands, nil for one that was closed
	Message     string
	OutOfMemory bool
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if len(e.Shapes) > 0 {
		b.WriteString(" of shapes ")
		for i, s := range e.Shapes {
			if i > 0 {
				b.WriteString(", ")
			}
			if s == nil {
				b.WriteString("(no tensor)")
				continue
			}
			fmt.Fprint(&b, s)
		}
	}
	b.WriteString(": ")
	b.WriteString(e.Message)
	return b.String()
}

// ErrOutOfMemory matches, by errors.Is, every Error whose cause is memory.
var ErrOutOfMemory = errors.New("out of memory")

// AdviseOnMemory adds advice to the error of an operator that found too little memory. Other errors stay as they are,
// those too that say themselves what did not fit.
func AdviseOnMemory(err error, advice string) error {
	if at := new(Error); errors.As(err, &at) && at.OutOfMemory {
		return fmt.Errorf("%w%s", ErrOutOfMemory, advice)
	}
	return err
}

// Is reports whether target is ErrOutOfMemory and e was caused by memory.
func (e *Error) Is(target error) bool { return target == ErrOutOfMemory && e.OutOfMemory }

func fail(op, message string, outOfMemory bool, operands ...Tensor) {
	e := &Error{Op: op, Message: message, OutOfMemory: outOfMemory}
	for _, x := range operands {
		switch {
		case x.h == nil: // an operand that may be left out
		case x.h.ptr == nil:
			e.Shapes = append(e.Shapes, nil)
		default:
			e.Shapes = append(e.Shapes, x.Shape())
		}
	}
	panic(e)
}

// Try runs f and returns the *Error it panics with, or f's own error; scopes that
// f opened and the panic left open are closed. Other panics pass through.
func Try(f func() error) (err error) {
	var before *Scope
	here := onTorchThread()
	if here {
		before = current
	}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *Error:
			if here {
				unwind(before)
			}
			err = e
		default:
			panic(e)
		}
	}()
	return f()
}
