package torch

// The one place where link flags stand. The second search path lets a binary in
// bin/ find its libraries beside the folder it was built in.

// #cgo CFLAGS: -I${SRCDIR}/csrc -I${SRCDIR}/../third_party/lib
// #cgo LDFLAGS: -L${SRCDIR}/../third_party/lib -Wl,-rpath,${SRCDIR}/../third_party/lib -Wl,-rpath,$ORIGIN/../third_party/lib -laperture
// #if !__has_include("aperture_built.h")
// #error "the libraries that Aperture links are not there yet: run ./build.sh"
// #endif
// #include <stdlib.h>
// #include "api.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// check turns the C side's error text into a panic with *Error.
func check(op string, text C.ap_error, operands ...Tensor) {
	// The operands stay reachable until the call has returned.
	runtime.KeepAlive(operands)
	if text == nil {
		return
	}
	message := C.GoString(text)
	C.ap_free_text(text)
	fail(op, message[1:], message[0] == 'm', operands...)
}

// made checks the call of an operator and takes its result into the innermost scope.
func made(op string, text C.ap_error, out *C.ap_tensor, operands ...Tensor) Tensor {
	check(op, text, operands...)
	return own(op, *out)
}

// madeTwo is made of an operator with two results.
func madeTwo(op string, text C.ap_error, p, q *C.ap_tensor, operands ...Tensor) (Tensor, Tensor) {
	check(op, text, operands...)
	return ownTwo(op, *p, *q)
}

func cInts(xs []int64) *C.int64_t {
	if len(xs) == 0 {
		return nil
	}
	return (*C.int64_t)(unsafe.Pointer(&xs[0]))
}

// raw returns the C handles of xs in C-owned order; the slice holds C pointers only.
func raw(op string, xs []Tensor) ([]C.ap_tensor, *C.ap_tensor) {
	if len(xs) == 0 {
		return nil, nil
	}
	out := make([]C.ap_tensor, len(xs))
	for i, x := range xs {
		out[i] = x.c(op)
	}
	return out, &out[0]
}

// withDevice calls f with the device's name as a C string.
func withDevice(d Device, f func(*C.char)) {
	name := C.CString(d.name())
	defer C.free(unsafe.Pointer(name))
	f(name)
}
