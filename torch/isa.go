package torch

// #include <stdlib.h>
// #include "api.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// BadISA is what Main returns where APERTURE_ISA asks for what is not there.
type BadISA struct {
	Wanted string // its value
	reason string
}

func (e *BadISA) Error() string {
	return fmt.Sprintf("APERTURE_ISA=%s %s: use avx2 or avx512, or leave it unset for the best that the processor has",
		e.Wanted, e.reason)
}

// Variable is the name of the environment's variable.
func (e *BadISA) Variable() string { return "APERTURE_ISA" }

// refused says why nothing can be computed here; nil where all is well.
var refused = cmp.Or(outdated(sources, CSRCDigest()),
	refusal(os.Getenv("APERTURE_ISA"), bool(C.ap_has_avx2()), bool(C.ap_has_avx512())))

// refusal says what is wrong with asking for a set, or for none in particular, on a processor that has these.
func refusal(wanted string, avx2, avx512 bool) error {
	switch {
	case wanted != "" && wanted != "avx2" && wanted != "avx512":
		return &BadISA{wanted, "names no instruction set"}
	case wanted == "avx512" && !avx512:
		return &BadISA{wanted, "asks for instructions that this processor does not have"}
	case !avx2:
		return errors.New("this processor lacks AVX2 or FMA (x86-64-v3), which Aperture needs: Intel has them since " +
			"2013 (Haswell), AMD since 2015 (Excavator)")
	}
	return nil
}

// ISA is the instruction set that this process computes with, "avx2" or "avx512": the better one that the processor
// has, or the one that APERTURE_ISA names. It holds for our own kernels, and where APERTURE_ISA is set for those of
// libtorch, MKL and oneDNN too.
func ISA() string { return C.GoString(C.ap_isa()) }

// HasBFloat16 reports whether the CPU has instructions for bfloat16 products, in the set that is used.
func HasBFloat16() bool { return bool(C.ap_has_bfloat16()) }

// KernelPaths tells which instruction set each of our kernels has run with, by the
// kernel's file and name: "avx2", "avx512", or "" for one that has not been called.
func KernelPaths() map[string]string {
	count := C.ap_kernels(nil, nil, 0)
	names, called := make([]*C.char, count), make([]C.bool, count)
	C.ap_kernels(unsafe.SliceData(names), unsafe.SliceData(called), count)
	paths := map[string]string{}
	for i, name := range names {
		path := ""
		if called[i] {
			path = ISA()
		}
		paths[C.GoString(name)] = path
	}
	return paths
}

// LibtorchISA is the instruction set of libtorch's own kernels, in its words.
func LibtorchISA() string { return C.GoString(C.ap_libtorch_isa()) }

// libraryVariables are what libtorch, MKL, oneDNN and fbgemm read.
var libraryVariables = []string{"ATEN_CPU_CAPABILITY", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA",
	"FBGEMM_ENABLE_INSTRUCTIONS"}

// UseISA has this process compute with a set, or for "" with the best that there is: unless it does already, the
// program starts anew, under the same process id, with APERTURE_ISA in its environment, since the libraries look there
// before any of Go runs. Main refuses a set that is not there.
func UseISA(name string) error {
	if os.Getenv("APERTURE_ISA") == name {
		return nil
	}
	for _, variable := range libraryVariables {
		os.Unsetenv(variable)
	}
	os.Setenv("APERTURE_ISA", name)
	self, err := os.Executable()
	if err == nil {
		err = syscall.Exec(self, os.Args, os.Environ())
	}
	return fmt.Errorf("the program cannot be started with APERTURE_ISA=%s: %w: set it yourself", name, err)
}

// The library has told libtorch, MKL, oneDNN, fbgemm and libgomp before Go was there; programs that
// are started from here, such as a peer of runs/bench, hear it too.
func init() {
	for _, name := range append([]string{"GOMP_SPINCOUNT"}, libraryVariables...) {
		key := C.CString(name)
		if value := C.getenv(key); value != nil {
			os.Setenv(name, C.GoString(value))
		} else {
			os.Unsetenv(name)
		}
		C.free(unsafe.Pointer(key))
	}
}
