// Package torch is Aperture's view of libtorch: tensors, scopes, operators, optimizers, random streams, safetensors,
// devices and process groups. It is the only package that imports "C" or gotorch.
//
// # Basics
//
// Work with tensors runs on one thread: put a program's body into [Main] and a test's into [Test]. Every tensor belongs
// to the innermost open [Scope]; closing the scope frees them all. What must live longer is kept by name with [Keep] or
// [Parameter].
//
//	step := torch.OpenScope()
//	loss := model.Loss(batch)
//	loss.Backward()
//	step.Close()
//
// gotorch provides the handle's type and elementary operators such as [Tensor.Add]; all other operators are C++ in
// csrc. Both share one representation of a tensor. Optimizers, random streams and safetensors are this package's own.
//
// # Caveats
//
// An operator whose operands do not fit panics with [*Error], which names the operator and the shapes; [Try] turns the
// panic into an error. So does a tensor that is used after its scope was closed, or made with no scope open or on
// another thread than torch's, as in a goroutine or subtest that the body of Main or Test starts.
//
// Tensors of gotorch's operators lose their finalizers, because scopes free them. gotorch's garbage collection,
// optimizers, Backward, Save and NewDevice are not used: they abort, leak or free twice.
//
// A kernel of csrc that should use wide registers is an AP_KERNEL (csrc/devices/isa.h), compiled for AVX2 and AVX-512,
// and stands in the list of isa_test.go, so that tests run it with both. [ISA] is the set in use.
//
// A [Store] and a [Group] are c10d's: TCPStore and ProcessGroupGloo, which libtorch_cpu exports.
// csrc/processes/gloo_declared.h has the few names of gloo that c10d's header mentions. ProcessGroupNCCL is in
// libtorch_cuda; what calls it is libaperture_cuda.so (csrc/cuda), which is opened where a GPU is.
//
// [FindDevice] must come before the first tensor, because libtorch asks for CUDA only once.
package torch
