package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/torch"
)

// TestPanicsAreErrors: of Go, of tensors and of memory, each with a sentence and the stack of its place.
func TestPanicsAreErrors(t *testing.T) {
	var none []int
	for what, test := range map[string]struct {
		body func() error
		says string
	}{
		"a slip": {func() error { none[3] = 1; return nil }, "this is a defect of Aperture"},
		"shapes": {func() error {
			torch.Zeros(torch.Float32, torch.CPU, 2, 3).MatMul(torch.Zeros(torch.Float32, torch.CPU, 2, 3))
			return nil
		}, "MatMul of shapes [2 3], [2 3]"},
		"memory":  {func() error { torch.Zeros(torch.Float32, torch.CPU, 1<<30, 1<<20); return nil }, "out of memory"},
		"nothing": {func() error { return errors.New("as it is") }, "as it is"},
	} {
		err := command.On(torch.Main, func() error {
			scope := torch.OpenScope()
			defer scope.Close()
			return test.body()
		})
		if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", what, err)
			continue
		}
		var internal *command.InternalError
		if panicked := errors.As(err, &internal); panicked != (what != "nothing") || panicked &&
			!strings.Contains(string(internal.Stack), "panics_test.go") {
			t.Errorf("%s gives %#v", what, err)
		}
		if errors.Is(err, torch.ErrOutOfMemory) != (what == "memory") {
			t.Errorf("%s is taken for a lack of memory", what)
		}
	}
	if n := torch.LiveHandles(); n != 0 {
		t.Errorf("%d tensors are left", n)
	}
}
