package command

import (
	"github.com/aperture-ml/aperture/torch"
)

// OnTorch runs body on the torch thread and returns its error. A panic of body is an *InternalError with the
// stack of that thread, so that no command shows its user a stack.
func OnTorch(body func() error) error {
	return torch.Main(func() error { return Guard(body) })
}
