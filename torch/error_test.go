package torch_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestAdviseOnMemory: an operator that found too little memory gets the advice, and nothing else does.
func TestAdviseOnMemory(t *testing.T) {
	const advice = ": do less"
	lacking := &torch.Error{Op: "MatMul", OutOfMemory: true}
	for _, err := range []error{lacking, fmt.Errorf("step 3: %w", lacking)} {
		got := torch.AdviseOnMemory(err, advice)
		if got.Error() != "out of memory: do less" || !errors.Is(got, torch.ErrOutOfMemory) {
			t.Errorf("%v becomes %v", err, got)
		}
	}
	for _, err := range []error{nil, errors.New("no file"), &torch.Error{Op: "MatMul"},
		fmt.Errorf("the network does not fit: %w", torch.ErrOutOfMemory)} {
		if got := torch.AdviseOnMemory(err, advice); got != err {
			t.Errorf("%v becomes %v", err, got)
		}
	}
}
