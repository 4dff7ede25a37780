package exchange

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Format is how numbers are kept on disk.
type Format string

// The formats. Int8 has a scale for each row of a matrix, Int16 one for each matrix; vectors stay float32 with both.
const (
	Float32  Format = ""
	Float16  Format = "float16"
	BFloat16 Format = "bfloat16"
	Int8     Format = "int8"
	Int16    Format = "int16"
)

// Options say how a model is written.
type Options struct {
	Quantise Format
	// Tokens leaves the text path out: the model alone is written, for text that is tokenised outside.
	Tokens bool
}

// size is the bytes of a number.
func (f Format) size() int {
	switch f {
	case Float32:
		return 4
	case Int8:
		return 1
	}
	return 2
}

// floats writes numbers in a format of floating point, little-endian.
func (f Format) floats(w io.Writer, values []float32) error {
	const block = 1 << 14
	buffer := make([]byte, 0, 4*block)
	for len(values) > 0 {
		n := min(block, len(values))
		buffer = buffer[:0]
		for _, x := range values[:n] {
			switch f {
			case Float16:
				buffer = binary.LittleEndian.AppendUint16(buffer, half(x))
			case BFloat16:
				buffer = binary.LittleEndian.AppendUint16(buffer, brain(x))
			case Float32:
				buffer = binary.LittleEndian.AppendUint32(buffer, math.Float32bits(x))
			default:
				return fmt.Errorf("%s is no format of floating point", f)
			}
		}
		if _, err := w.Write(buffer); err != nil {
			return err
		}
		values = values[n:]
	}
	return nil
}

// half is a number as float16, rounded to the nearest, a tie to the even one. It must not exceed 65504.
func half(x float32) uint16 {
	bits := math.Float32bits(x)
	sign, exponent := uint16(bits>>16)&0x8000, int(bits>>23&0xff)-127
	mantissa := bits & 0x7fffff
	switch {
	case exponent < -25:
		return sign
	case exponent < -14: // a multiple of 2^-24
		return sign | uint16(rounded(mantissa|0x800000, uint(-exponent-1)))
	}
	return sign + uint16(rounded(uint32(exponent+15)<<23|mantissa, 13)) // which carries into the exponent
}

// brain is a number as bfloat16, rounded in the same way.
func brain(x float32) uint16 { return uint16(rounded(math.Float32bits(x), 16)) }

// rounded is x / 2^shift, rounded to the nearest, a tie to the even one.
func rounded(x uint32, shift uint) uint32 {
	return (x + (1<<(shift-1) - 1) + x>>shift&1) >> shift
}

// rowScales are those of an int8 matrix: 127 over each row's largest magnitude, 1 for a row of zeros.
func rowScales(t Tensor) []float32 {
	width := t.Shape[1]
	scales := make([]float32, t.Shape[0])
	for r := range scales {
		scales[r] = 1
		if largest := magnitude(t.Values[r*width : (r+1)*width]); largest > 0 {
			scales[r] = 127 / max(largest, 127/math.MaxFloat32)
		}
	}
	return scales
}

// matrixScale is that of an int16 matrix: 1024 over its largest magnitude, which leaves room for sums of products.
func matrixScale(t Tensor) float32 {
	largest := magnitude(t.Values)
	if largest == 0 {
		return 1
	}
	return 1024 / max(largest, 1024/math.MaxFloat32)
}

func magnitude(values []float32) (largest float32) {
	for _, x := range values {
		largest = max(largest, x, -x)
	}
	return largest
}

// integers writes a matrix times its scales, rounded to the nearest, a tie to the even number.
func (f Format) integers(w io.Writer, t Tensor, scale func(row int) float32) error {
	width := t.Shape[1]
	buffer := make([]byte, 0, 2*width)
	for r := range t.Shape[0] {
		buffer = buffer[:0]
		s := scale(r)
		for _, x := range t.Values[r*width : (r+1)*width] {
			q := math.RoundToEven(float64(x * s))
			if f == Int8 {
				buffer = append(buffer, byte(int8(q)))
			} else {
				buffer = binary.LittleEndian.AppendUint16(buffer, uint16(int16(q)))
			}
		}
		if _, err := w.Write(buffer); err != nil {
			return err
		}
	}
	return nil
}
