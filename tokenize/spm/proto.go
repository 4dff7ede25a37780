package spm

import (
	"encoding/binary"
	"errors"
	"iter"
	"math"
)

// errDamaged stands for every violation of the format.
var errDamaged = errors.New("the file is damaged or is no SentencePiece model")

// field is one field of a Protocol Buffers message: a number for varints and fixed sizes, bytes otherwise.
type field struct {
	number int
	wire   int
	value  uint64
	bytes  []byte
}

// Wire types of Protocol Buffers.
const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

// fields walks over the fields of a message. After the first damage it yields the error and stops.
func fields(message []byte) iter.Seq2[field, error] {
	return func(yield func(field, error) bool) {
		for len(message) > 0 {
			f, size := nextField(message)
			if size <= 0 {
				yield(field{}, errDamaged)
				return
			}
			message = message[size:]
			if !yield(f, nil) {
				return
			}
		}
	}
}

// nextField reads one field and gives its size in bytes, 0 where it is damaged.
func nextField(message []byte) (f field, size int) {
	tag, n := binary.Uvarint(message)
	if n <= 0 || tag>>3 == 0 || tag>>3 > math.MaxInt32 {
		return f, 0
	}
	f.number, f.wire = int(tag>>3), int(tag&7)
	rest := message[n:]
	switch f.wire {
	case wireVarint:
		value, m := binary.Uvarint(rest)
		if m <= 0 {
			return f, 0
		}
		f.value, size = value, n+m
	case wire64:
		if len(rest) < 8 {
			return f, 0
		}
		f.value, size = binary.LittleEndian.Uint64(rest), n+8
	case wire32:
		if len(rest) < 4 {
			return f, 0
		}
		f.value, size = uint64(binary.LittleEndian.Uint32(rest)), n+4
	case wireBytes:
		length, m := binary.Uvarint(rest)
		if m <= 0 || length > uint64(len(rest)-m) {
			return f, 0
		}
		f.bytes, size = rest[m:m+int(length)], n+m+int(length)
	}
	return f, size
}

// is reports whether the field has a number and a wire type.
func (f field) is(number, wire int) bool { return f.number == number && f.wire == wire }
