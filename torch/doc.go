// Package torch is Aperture's view of libtorch: tensors, scopes, operators,
// optimizers, random streams, safetensors and devices. It is the only package
// that imports "C" or gotorch.
//
// # Basics
//
// Work with tensors runs on one thread: put a program's body into [Main] and a
// test's into [Test]. Every tensor belongs to the innermost open [Scope]; closing
// the scope frees them all. What must live longer is kept by name with [Keep] or
// [Parameter].
//
//	step := torch.OpenScope()
//	loss := model.Loss(batch)
//	loss.Backward()
//	step.Close()
//
// Elementary operators come from gotorch, the others from csrc; both share one
// representation, so they mix freely.
//
// # Caveats
//
// An operator whose operands do not fit panics with [*Error], which names the
// operator and the shapes; [Try] turns it into an error at the edge. So does the
// use of a tensor after its scope was closed, and making one with no scope open or
// on another thread: also in a goroutine, or a subtest, that a body starts.
//
// gotorch's finalizers are stripped from every tensor that is adopted; its
// collector, optimizers, Backward, Save and NewDevice are not used: they abort,
// leak or free twice.
//
// [FindDevice] must come before the first tensor, because libtorch asks for CUDA
// only once.
package torch
