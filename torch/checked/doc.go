// Package checked is a device for tests, which stands for a GPU where there is none.
//
// # Basics
//
// [Device] loads it. A test makes its tensors there, or trains a network there, and compares with the CPU:
//
//	d := checked.Device(t)
//	x := torch.FromFloat32s(values, d, 2, 3)
//
// Each operator is computed by libtorch's kernel for the CPU. A tensor's address is one that nothing can touch: kernels
// and copies see the memory elsewhere. So host code that reads a device's pointer ends the process with a sentence and
// its calls; an operator whose operands lie on both sides fails as it does on a GPU; what was never written is NaN, or
// -1. Code of csrc for the CPU alone does not run there: the device takes the path that a GPU takes.
//
// [Counting] tells how many operators were launched, and how often the host waited for the device.
//
// Set APERTURE_TEST_DEVICE=checked:0 and the tests of packages torch, objectives and models compute there, or on a GPU
// where it says cuda:0 ([FromEnvironment]).
//
// # Caveats
//
// Its random numbers are not those of the CPU, as a GPU's are not. ./build.sh checked compiles it, and so does
// ./build.sh test; a test skips where that was not done.
package checked
