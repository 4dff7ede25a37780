package torch

// #include "api.h"
import "C"

import (
	"math"
	"unsafe"
)

// A Scope owns every tensor made while it is the innermost open one, and frees them all in one call when it is closed.
type Scope struct {
	parent  *Scope
	handles []*handle
	closed  bool
}

// current is the innermost open scope. Only the torch thread touches it.
var current *Scope

const outsideThread = "called outside torch.Main and torch.Do; tensors belong to one thread"

// OpenScope opens a scope inside the current one. It must be called on the torch thread: inside Main, Do or Test.
func OpenScope() *Scope {
	if !onTorchThread() {
		fail("OpenScope", outsideThread, false)
	}
	current = &Scope{parent: current}
	return current
}

// unwind closes the scopes opened since before was the innermost one.
func unwind(before *Scope) {
	if before != nil && !before.contains(current) {
		return // before itself was closed
	}
	for current != before {
		current.Close()
	}
}

func needScope(op string) {
	if current == nil {
		fail(op, "no scope is open: open one with torch.OpenScope, so that the result has an owner", false)
	}
}

// Close frees the tensors that the scope still owns, and those of scopes opened
// inside it that were not closed. A second Close does nothing.
func (s *Scope) Close() {
	if s.closed {
		return
	}
	for current != nil && current != s && s.contains(current) {
		current.free()
		current = current.parent
	}
	s.free()
	if current == s {
		current = s.parent
	}
}

func (s *Scope) contains(inner *Scope) bool {
	for ; inner != nil; inner = inner.parent {
		if inner == s {
			return true
		}
	}
	return false
}

func (s *Scope) free() {
	s.closed = true
	pointers := make([]C.ap_tensor, 0, len(s.handles))
	for _, h := range s.handles {
		if h == nil || h.ptr == nil {
			continue
		}
		pointers = append(pointers, C.ap_tensor(h.ptr))
		h.ptr, h.scope = nil, nil
	}
	s.handles = nil
	if len(pointers) > 0 {
		C.ap_free(&pointers[0], C.int(len(pointers)))
	}
}

// Scoped runs f inside a scope of its own and keeps the tensor that f returns:
// if f made it, it moves to the scope around.
func Scoped(f func() Tensor) Tensor {
	needScope("Scoped")
	s := OpenScope()
	defer s.Close()
	out := f()
	out.c("Scoped")
	s.release(out)
	return out
}

// release moves a tensor to the scope around, if this one or one inside owns it.
func (s *Scope) release(x Tensor) {
	if owner := x.h.scope; owner != nil && s.contains(owner) {
		x.move("Scoped", s.parent)
	}
}

// Evaluated is Scoped without recording gradients.
func Evaluated(f func() Tensor) (out Tensor) {
	NoGrad(func() { out = Scoped(f) })
	return out
}

// ScopedNoGrad runs f inside a scope of its own, without recording gradients.
func ScopedNoGrad(f func()) {
	s := OpenScope()
	defer s.Close()
	NoGrad(f)
}

// Keep takes the tensors out of their scopes: they live until Free. It is for
// what must outlive a step by name: parameters, optimizer state, carried state.
func Keep(xs ...Tensor) {
	for _, x := range xs {
		x.move("Keep", nil)
	}
}

// Free frees tensors that were kept. Freeing a tensor twice does nothing.
func Free(xs ...Tensor) {
	for _, x := range xs {
		if x.h == nil || x.h.ptr == nil {
			continue
		}
		p := C.ap_tensor(x.h.ptr)
		x.h.leave()
		x.h.ptr = nil
		C.ap_free(&p, 1)
	}
}

// handle is one owned C++ tensor. Its ptr field is the cell that gotorch's Tensor points at.
type handle struct {
	ptr   unsafe.Pointer
	scope *Scope
	index int
}

func (h *handle) leave() {
	if h.scope != nil {
		h.scope.handles[h.index] = nil
		h.scope = nil
	}
}

func (x Tensor) move(op string, to *Scope) {
	x.c(op)
	x.h.leave()
	if to != nil {
		x.h.enter(to)
	}
}

func (h *handle) enter(s *Scope) {
	h.scope, h.index = s, len(s.handles)
	s.handles = append(s.handles, h)
}

// own gives a new C++ handle to the innermost scope.
func own(op string, p C.ap_tensor) Tensor {
	if current == nil {
		C.ap_free(&p, 1)
	}
	needScope(op)
	h := &handle{ptr: unsafe.Pointer(p)}
	h.enter(current)
	return Tensor{h}
}

func ownTwo(op string, p, q C.ap_tensor) (Tensor, Tensor) {
	if current == nil {
		C.ap_free(&q, 1)
	}
	return own(op, p), own(op, q)
}

// LiveHandles counts the tensor handles that exist now.
func LiveHandles() int64 { return int64(C.ap_live_handles()) }

// LiveBytes counts the bytes that CPU tensors hold now.
func LiveBytes() int64 { return int64(C.ap_live_bytes()) }

// PeakBytes is the largest LiveBytes since the start or the last ResetPeakBytes.
func PeakBytes() int64 { return int64(C.ap_peak_bytes()) }

// ResetPeakBytes starts PeakBytes anew from the bytes that are live now.
func ResetPeakBytes() { C.ap_reset_peak_bytes() }

// Within calls f, in which CPU tensors may hold at most that many bytes more than now: beyond that an operator fails as
// it does where memory ends, with [ErrOutOfMemory]. It is for the torch thread, and calls do not nest.
func Within(bytes int64, f func() error) error {
	C.ap_limit_bytes(C.int64_t(LiveBytes() + bytes))
	defer C.ap_limit_bytes(math.MaxInt64)
	return Try(f)
}
