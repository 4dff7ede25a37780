package torch

// #include "api.h"
import "C"

import "hash/fnv"

// A Stream is a named sequence of random draws. Draw n of a stream is a function of the seed, the name and n alone, so
// one more draw in one stream moves no other stream, and a stream is restored by its Offset.
type Stream struct {
	seed   uint64
	Offset uint64 // draws made so far; it belongs into a checkpoint
	unset  bool
}

// NewStream returns the stream of that name for a seed.
func NewStream(seed uint64, name string) *Stream {
	h := fnv.New64a()
	h.Write([]byte(name))
	return &Stream{seed: seed*0x9E3779B97F4A7C15 ^ h.Sum64()}
}

// Derive returns a stream of its own by that name, for the same seed.
func (s *Stream) Derive(name string) *Stream { return NewStream(s.seed, name) }

// Unset returns a stream whose Uniform and Normal give zeros: for weights that are read from a file next. Streams that
// are derived from it draw.
func (s *Stream) Unset() *Stream { return &Stream{seed: s.seed, unset: true} }

// IsUnset reports whether Uniform and Normal give zeros, from which no orthogonal matrix can be made.
func (s *Stream) IsUnset() bool { return s.unset }

func (s *Stream) next() (seed, offset C.uint64_t) {
	seed, offset = C.uint64_t(s.seed), C.uint64_t(s.Offset)
	s.Offset++
	return seed, offset
}

// Uniform returns independent draws from [low, high).
func (s *Stream) Uniform(low, high float64, dtype DType, d Device, shape ...int64) Tensor {
	if s.unset {
		return Zeros(dtype, d, shape...)
	}
	seed, offset := s.next()
	var out C.ap_tensor
	withDevice(d, func(device *C.char) {
		check("Uniform", C.ap_random_uniform(seed, offset, C.double(low), C.double(high), C.int(dtype), cInts(shape),
			C.int(len(shape)), device, &out))
	})
	return own("Uniform", out)
}

// Normal returns independent draws from the normal distribution.
func (s *Stream) Normal(mean, stddev float64, dtype DType, d Device, shape ...int64) Tensor {
	if s.unset {
		return Zeros(dtype, d, shape...)
	}
	seed, offset := s.next()
	var out C.ap_tensor
	withDevice(d, func(device *C.char) {
		check("Normal", C.ap_random_normal(seed, offset, C.double(mean), C.double(stddev), C.int(dtype), cInts(shape),
			C.int(len(shape)), device, &out))
	})
	return own("Normal", out)
}

// Dropout zeroes each element with probability p and scales the others by
// 1/(1-p). A nil stream (evaluation) or p = 0 returns x itself.
func Dropout(x Tensor, p float64, s *Stream) Tensor {
	if s == nil || p == 0 {
		return x
	}
	seed, offset := s.next()
	var out C.ap_tensor
	return made("Dropout", C.ap_dropout(x.c("Dropout"), C.double(p), seed, offset, &out), &out, x)
}

// DropoutMask is what Dropout makes of ones of that shape: a factor, for masks that more elements share than they have.
func DropoutMask(p float64, s *Stream, dtype DType, d Device, shape ...int64) Tensor {
	seed, offset := s.next()
	var out C.ap_tensor
	withDevice(d, func(device *C.char) {
		check("DropoutMask", C.ap_dropout_mask(C.double(p), seed, offset, C.int(dtype), cInts(shape), C.int(len(shape)),
			device, &out))
	})
	return own("DropoutMask", out)
}

// Noise adds independent draws from the normal distribution with mean 0 and that standard deviation to the elements of
// x [...], whose gradient passes unchanged. A nil stream (evaluation) or a deviation of 0 returns x itself. Draws are
// at most 5.9 deviations in size.
func Noise(x Tensor, deviation float64, s *Stream) Tensor {
	if s == nil || deviation == 0 {
		return x
	}
	seed, offset := s.next()
	var out C.ap_tensor
	return made("Noise", C.ap_noise(x.c("Noise"), C.double(deviation), seed, offset, &out), &out, x)
}
