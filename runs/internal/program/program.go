// Package program runs the bodies of commands.
//
// # Basics
//
//	experiment.Exit(program.OnTorch(func() error { return run(flags) }))
//
// # Caveats
//
// OnTorch may start the program anew (torch.Main says why), so nothing that counts should come before it.
package program

import (
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/torch"
)

// OnTorch runs body on the torch thread and returns its error. A panic of body is an *experiment.InternalError with the
// stack of that thread, so that no command shows its user a stack.
func OnTorch(body func() error) error {
	return torch.Main(func() error { return experiment.Guard(body) })
}
