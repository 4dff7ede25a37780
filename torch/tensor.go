package torch

// #include "api.h"
import "C"

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/wangkuiyi/gotorch"
)

// DType is the type of a tensor's elements, numbered as in libtorch.
type DType int8

// The element types that Aperture uses.
const (
	Int64    = DType(gotorch.Long)
	Float32  = DType(gotorch.Float)
	Float64  = DType(gotorch.Double)
	Bool     = DType(gotorch.Bool)
	Float16  = DType(gotorch.Half)
	BFloat16 = DType(gotorch.BFloat16)
)

func (d DType) String() string {
	switch d {
	case Int64:
		return "int64"
	case Float32:
		return "float32"
	case Float64:
		return "float64"
	case Bool:
		return "bool"
	case Float16:
		return "float16"
	case BFloat16:
		return "bfloat16"
	}
	return fmt.Sprintf("dtype(%d)", int8(d))
}

// Tensor is a handle of a libtorch tensor. The zero Tensor is no tensor.
type Tensor struct{ h *handle }

// Defined reports whether x is a tensor that has not been freed.
func (x Tensor) Defined() bool { return x.h != nil && x.h.ptr != nil }

// c is the C handle; it panics where x was closed or never made.
func (x Tensor) c(op string) C.ap_tensor {
	if x.h == nil {
		panic(&Error{Op: op, Message: "an operand is no tensor (the zero Tensor)"})
	}
	if x.h.ptr == nil {
		panic(&Error{Op: op, Message: "an operand was used after its scope was closed"})
	}
	return C.ap_tensor(x.h.ptr)
}

// orNull is the C handle of an operand that may be the zero Tensor, NULL of that.
func (x Tensor) orNull(op string) C.ap_tensor {
	if x.h == nil {
		return nil
	}
	return x.c(op)
}

// g is the same handle as gotorch's type: the cell is shared, not copied.
func (x Tensor) g(op string) gotorch.Tensor {
	x.c(op)
	return gotorch.Tensor{T: &x.h.ptr}
}

// viaGotorch runs an operator of gotorch and adopts its result: the finalizer is
// stripped, so that the scope alone decides when the tensor is freed.
func viaGotorch(op string, f func() gotorch.Tensor, operands ...Tensor) Tensor {
	needScope(op)
	return adopt(op, runGotorch(op, f, operands))[0]
}

// adopt owns all results of one operator. Outside the torch thread it frees all of them: one that kept its
// finalizer would be freed by the collector, whenever and on whichever thread that runs.
func adopt(op string, results ...gotorch.Tensor) []Tensor {
	onThread, handles := true, make([]C.ap_tensor, len(results))
	for i, t := range results {
		runtime.SetFinalizer(t.T, nil)
		handles[i] = C.ap_tensor(*t.T)
		onThread = bool(C.ap_adopt()) && onThread
	}
	if !onThread {
		C.ap_free(&handles[0], C.int(len(handles)))
		fail(op, outsideThread, false)
	}
	owned := make([]Tensor, len(results))
	for i, handle := range handles {
		owned[i] = own(op, handle)
	}
	return owned
}

// runGotorch turns gotorch's panic with a text into one with *Error.
func runGotorch(op string, f func() gotorch.Tensor, operands []Tensor) gotorch.Tensor {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Error:
			panic(r)
		case string:
			line := firstLine(r)
			fail(op, line, strings.Contains(line, "out of memory"), operands...)
		default:
			panic(r)
		}
	}()
	t := f()
	runtime.KeepAlive(operands)
	return t
}

func firstLine(s string) string {
	for i := range s {
		if s[i] == '\n' {
			return s[:i]
		}
	}
	return s
}

// Shape returns the sizes of x's dimensions.
func (x Tensor) Shape() []int64 {
	p := x.c("Shape")
	shape := make([]int64, C.ap_rank(p))
	for i := range shape {
		shape[i] = int64(C.ap_size(p, C.int(i)))
	}
	return shape
}

// Size returns the size of dimension dim; a negative dim counts from the end.
func (x Tensor) Size(dim int) int64 {
	p := x.c("Size")
	rank := int(C.ap_rank(p))
	if dim < 0 {
		dim += rank
	}
	if dim < 0 || dim >= rank {
		fail("Size", fmt.Sprintf("there is no dimension %d", dim), false, x)
	}
	return int64(C.ap_size(p, C.int(dim)))
}

// Rank returns the number of dimensions.
func (x Tensor) Rank() int { return int(C.ap_rank(x.c("Rank"))) }

// Count returns the number of elements.
func (x Tensor) Count() int64 {
	n := int64(1)
	for _, d := range x.Shape() {
		n *= d
	}
	return n
}

// DType returns the type of x's elements.
func (x Tensor) DType() DType { return DType(C.ap_dtype(x.c("DType"))) }

// Device returns where x lives.
func (x Tensor) Device() Device {
	var name [64]C.char
	if C.ap_device(x.c("Device"), &name[0], C.int(len(name))) {
		return Device(C.GoString(&name[0]))
	}
	return CPU
}

// FromFloat32s copies data into a new float32 tensor of the given shape.
func FromFloat32s(data []float32, d Device, shape ...int64) Tensor {
	return fromData("FromFloat32s", unsafe.Pointer(unsafe.SliceData(data)), len(data), Float32, d, shape)
}

// FromFloat64s copies data into a new float64 tensor of the given shape.
func FromFloat64s(data []float64, d Device, shape ...int64) Tensor {
	return fromData("FromFloat64s", unsafe.Pointer(unsafe.SliceData(data)), len(data), Float64, d, shape)
}

// FromInt64s copies data into a new int64 tensor of the given shape.
func FromInt64s(data []int64, d Device, shape ...int64) Tensor {
	return fromData("FromInt64s", unsafe.Pointer(unsafe.SliceData(data)), len(data), Int64, d, shape)
}

// FromBools copies data into a new boolean tensor of the given shape.
func FromBools(data []bool, d Device, shape ...int64) Tensor {
	return fromData("FromBools", unsafe.Pointer(unsafe.SliceData(data)), len(data), Bool, d, shape)
}

func fromData(op string, data unsafe.Pointer, n int, dtype DType, d Device, shape []int64) Tensor {
	count := int64(1)
	for _, s := range shape {
		count *= s
	}
	if count != int64(n) {
		fail(op, fmt.Sprintf("%d elements do not fill shape %v", n, shape), false)
	}
	var out C.ap_tensor
	withDevice(d, func(device *C.char) {
		check(op, C.ap_from_data(data, C.int(dtype), cInts(shape), C.int(len(shape)), device, &out))
	})
	return own(op, out)
}

// Full returns a tensor filled with value.
func Full(value float64, dtype DType, d Device, shape ...int64) Tensor {
	return full("Full", value, dtype, d, shape)
}

func full(op string, value float64, dtype DType, d Device, shape []int64) Tensor {
	var out C.ap_tensor
	withDevice(d, func(device *C.char) {
		check(op, C.ap_full(C.double(value), C.int(dtype), cInts(shape), C.int(len(shape)), device, &out))
	})
	return own(op, out)
}

// Zeros returns a tensor of zeros.
func Zeros(dtype DType, d Device, shape ...int64) Tensor { return Full(0, dtype, d, shape...) }

// Arange returns 0, 1, ..., n-1 as int64.
func Arange(n int64, d Device) Tensor {
	var out C.ap_tensor
	withDevice(d, func(device *C.char) { check("Arange", C.ap_arange(C.int64_t(n), device, &out)) })
	return own("Arange", out)
}

// Float32s copies x's elements to Go in row-major order, converted to float32.
func (x Tensor) Float32s() []float32 { return copyOut[float32](x, Float32) }

// Float64s copies x's elements to Go in row-major order, converted to float64.
func (x Tensor) Float64s() []float64 { return copyOut[float64](x, Float64) }

// Int64s copies x's elements to Go in row-major order, converted to int64.
func (x Tensor) Int64s() []int64 { return copyOut[int64](x, Int64) }

// Bools copies x's elements to Go in row-major order, converted to bool.
func (x Tensor) Bools() []bool { return copyOut[bool](x, Bool) }

func copyOut[T float32 | float64 | int64 | bool](x Tensor, dtype DType) []T {
	out := make([]T, x.Count())
	check("copy to Go", C.ap_copy_out(x.c("copy to Go"), C.int(dtype), unsafe.Pointer(unsafe.SliceData(out)),
		C.int64_t(len(out))), x)
	return out
}

// Item returns the value of a tensor of one element.
func (x Tensor) Item() float64 {
	if n := x.Count(); n != 1 {
		fail("Item", fmt.Sprintf("the tensor has %d elements, not one", n), false, x)
	}
	return x.Float64s()[0]
}

// Numbers returns the values of tensors of one element each. Those on a device are
// read together, so that the host waits once.
func Numbers(xs ...Tensor) []float64 {
	const op = "Numbers"
	list, first := raw(op, xs)
	out := make([]float64, len(list))
	check(op, C.ap_numbers(first, C.int(len(list)), (*C.double)(unsafe.SliceData(out))), xs...)
	return out
}

// Assign copies value into x, in place and without a gradient; shapes must be broadcastable to x's.
func (x Tensor) Assign(value Tensor) {
	check("Assign", C.ap_assign(x.c("Assign"), value.c("Assign")), x, value)
}

// AssignFloat32s copies a Go slice into x, in place and without a gradient.
func (x Tensor) AssignFloat32s(data []float32) {
	x.copyIn("AssignFloat32s", Float32, unsafe.Pointer(unsafe.SliceData(data)), int64(len(data)))
}

// copyIn copies count elements of a type from memory of Go into x.
func (x Tensor) copyIn(op string, dtype DType, data unsafe.Pointer, count int64) {
	check(op, C.ap_copy_in(x.c(op), C.int(dtype), data, C.int64_t(count)), x)
}
