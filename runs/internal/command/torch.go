package command

import (
	"errors"

	"github.com/aperture-ml/aperture/torch"
)

// OnTorch runs body on the torch thread and returns its error. A panic of body is an *InternalError with the
// stack of that thread, so that no command shows its user a stack. An APERTURE_ISA that means nothing here is a
// *UsageError.
func OnTorch(body func() error) error {
	err := torch.Main(func() error { return Guard(body) })
	var bad *torch.BadISA
	if errors.As(err, &bad) {
		return &UsageError{err}
	}
	return err
}
