package exchange

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wide is the number that 16 bits stand for, as float16.
func wide(bits uint16) float64 {
	sign, exponent, mantissa := 1.0, int(bits>>10&31), float64(bits&1023)
	if bits>>15 == 1 {
		sign = -1
	}
	if exponent == 0 {
		return sign * math.Ldexp(mantissa, -24)
	}
	return sign * math.Ldexp(1024+mantissa, exponent-25)
}

// TestHalf: each finite float16 comes back, what lies between two goes to the nearer, and a tie to the even one.
func TestHalf(t *testing.T) {
	for bits := range uint16(0x7c00) {
		for _, sign := range []uint16{0, 0x8000} {
			x := float32(wide(sign | bits))
			if half(x) != sign|bits || unhalf(sign|bits) != x {
				t.Fatalf("%g becomes %04x, and not %04x, which becomes %g", x, half(x), sign|bits, unhalf(sign|bits))
			}
		}
		if bits == 0x7bff {
			break // the next is infinite
		}
		low, high := wide(bits), wide(bits+1)
		middle := float32((low + high) / 2)
		if got, even := half(middle), bits+bits&1; got != even {
			t.Fatalf("%g, between %04x and the next, becomes %04x", middle, bits, got)
		}
		if below, above := half(math.Nextafter32(middle, 0)), half(math.Nextafter32(middle, 1e9)); below != bits ||
			above != bits+1 {
			t.Fatalf("what is beside %g becomes %04x and %04x, and not %04x and the next", middle, below, above, bits)
		}
	}
	if half(1e-30) != 0 || half(float32(math.Copysign(0, -1))) != 0x8000 {
		t.Error("what is too small is no zero")
	}
}

// TestBrain: the upper half of a float32, rounded to the nearest, a tie to the even one.
func TestBrain(t *testing.T) {
	for bits, want := range map[uint32]uint16{
		0x3f800000: 0x3f80, 0x3f807fff: 0x3f80, 0x3f808000: 0x3f80, 0x3f808001: 0x3f81, 0x3f818000: 0x3f82,
		0xbf818000: 0xbf82,
	} {
		if got := brain(math.Float32frombits(bits)); got != want {
			t.Errorf("%08x becomes %04x, and not %04x", bits, got, want)
		}
	}
}

// TestFloatFormats: weights of 16 bits are read as they were rounded.
func TestFloatFormats(t *testing.T) {
	m := fixture("all", true, false)
	for format, width := range map[Format]int{Float16: 2, BFloat16: 2, Float32: 4} {
		folder := t.TempDir()
		if err := m.writeWeights(filepath.Join(folder, "x.safetensors"), class{}, format); err != nil {
			t.Fatal(err)
		}
		d := &directory{FS: os.DirFS(folder), where: folder}
		read, err := d.readWeights("x.safetensors")
		if err != nil {
			t.Fatal(err)
		}
		for name, x := range read {
			var once, twice bytes.Buffer
			if err := format.floats(&once, m.Tensors[strings.TrimPrefix(name, "model.")].Values); err != nil {
				t.Fatal(err)
			}
			if err := format.floats(&twice, x.Values); err != nil {
				t.Fatal(err)
			}
			if once.Len() != width*len(x.Values) || !bytes.Equal(once.Bytes(), twice.Bytes()) {
				t.Errorf("%q: %s comes back as other numbers", format, name)
			}
		}
		if len(read) < len(m.Tensors)-2 { // the position tables
			t.Errorf("%q: %d of %d weights", format, len(read), len(m.Tensors))
		}
	}
}

// TestIntegers: a row's largest number becomes 127, a row of zeros stays zero, and every number comes back within half
// a step.
func TestIntegers(t *testing.T) {
	x := Tensor{[]int{3, 2}, []float32{0.5, -2, 0, 0, 3e-3, 1e-3}}
	scales := rowScales(x)
	var b bytes.Buffer
	if err := Int8.integers(&b, x, func(r int) float32 { return scales[r] }); err != nil {
		t.Fatal(err)
	}
	got := b.Bytes()
	if int8(got[1]) != -127 || got[2] != 0 || got[3] != 0 || got[4] != 127 {
		t.Errorf("the numbers are %v", got)
	}
	for i, q := range got {
		if back := float32(int8(q)) / scales[i/2]; math.Abs(float64(back-x.Values[i])) > 0.5001/float64(scales[i/2]) {
			t.Errorf("%g comes back as %g", x.Values[i], back)
		}
	}
	b.Reset()
	if err := Int16.integers(&b, x, func(int) float32 { return matrixScale(x) }); err != nil {
		t.Fatal(err)
	}
	if q := int16(binary.LittleEndian.Uint16(b.Bytes()[2:])); q != -1024 {
		t.Errorf("the largest number becomes %d in 16 bits", q)
	}
	if s := matrixScale(Tensor{[]int{1, 2}, []float32{0, 0}}); s != 1 {
		t.Errorf("a matrix of zeros has the scale %g", s)
	}
}
