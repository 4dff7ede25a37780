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
// gotorch provides the type of a tensor's handle and elementary operators such as [Tensor.Add] and [Tensor.Tanh]; all
// other operators are C++ in csrc. Both share one representation of a tensor, so that they can be used together.
// Optimizers, random streams and safetensors are this package's own.
//
// # Caveats
//
// An operator whose operands do not fit panics with [*Error], which names the operator and the shapes; [Try] turns the
// panic into an error. The same happens when a tensor is used after its scope was closed, and when one is made with no
// scope open or on another thread than torch's, for example in a goroutine or a subtest that the body of Main or Test
// starts.
//
// Tensors that gotorch's operators return lose their finalizers, because scopes free them. gotorch's garbage
// collection, optimizers, Backward, Save and NewDevice are not used: they abort, leak or free twice.
//
// A kernel of csrc that should use wide registers is an AP_KERNEL (csrc/devices/isa.h), which compiles it for AVX2 and
// AVX-512, and stands in the list of isa_test.go, so that tests see it run with both. [ISA] is the set in use.
//
// A [Store] and a [Group] are c10d's: TCPStore and ProcessGroupGloo, which libtorch_cpu
// exports. gloo's headers are not in its wheel; csrc/processes/gloo_declared.h has the few names
// that c10d's header mentions. Its ProcessGroupNCCL is in libtorch_cuda, and what calls it in a
// library of its own, libaperture_cuda.so (csrc/cuda), which is opened where a GPU is.
//
// [FindDevice] must come before the first tensor, because libtorch asks for CUDA only once.
package torch
