package vectors

import (
	"math"
	"strconv"
)

var powersOfTen = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
	1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// parseNumber reads a number as strconv.ParseFloat of 32 bits does, several times as fast where it has at most 15
// digits, as numbers in files of vectors have. ok is false for what is no finite number.
//
// A mantissa of at most 15 digits and a power of ten up to 10^22 are exact in float64 (Clinger 1990), so that their
// quotient is rounded once. Rounding it again to float32 gives the nearest one, unless it lies halfway between two:
// strconv decides that.
func parseNumber(field []byte) (x float32, ok bool) {
	mantissa, digits, behind, i := uint64(0), 0, 0, 0
	negative := false
	if i < len(field) && (field[i] == '-' || field[i] == '+') {
		negative = field[i] == '-'
		i++
	}
	first := i
	for ; i < len(field); i++ {
		d := field[i] - '0'
		if d > 9 {
			break
		}
		mantissa = mantissa*10 + uint64(d)
	}
	digits = i - first
	if i < len(field) && field[i] == '.' {
		first = i + 1
		for i = first; i < len(field); i++ {
			d := field[i] - '0'
			if d > 9 {
				break
			}
			mantissa = mantissa*10 + uint64(d)
		}
		behind = i - first
		digits += behind
	}
	if digits == 0 || digits > 15 {
		return parseAny(field)
	}
	power := -behind
	if i < len(field) {
		e, ok := exponent(field[i:])
		if !ok {
			return parseAny(field)
		}
		power += e
	}
	y := float64(mantissa)
	switch {
	case power < -22 || power > 22:
		return parseAny(field)
	case power < 0:
		y /= powersOfTen[-power]
	default:
		y *= powersOfTen[power]
	}
	const halfway, below = 1 << 28, 1<<29 - 1 // of the bits that float32 lacks
	if bits := math.Float64bits(y); bits&below == halfway || y != 0 && y < 0x1p-126 || y > math.MaxFloat32 {
		return parseAny(field)
	}
	if negative {
		y = -y
	}
	return float32(y), true
}

// exponent reads e and one or two digits with a sign.
func exponent(s []byte) (e int, ok bool) {
	if s[0] != 'e' && s[0] != 'E' {
		return 0, false
	}
	s = s[1:]
	sign := 1
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		if s[0] == '-' {
			sign = -1
		}
		s = s[1:]
	}
	if len(s) == 0 || len(s) > 2 {
		return 0, false
	}
	for _, c := range s {
		if c < '0' || c > '9' {
			return 0, false
		}
		e = e*10 + int(c-'0')
	}
	return sign * e, true
}

func parseAny(field []byte) (float32, bool) {
	x, err := strconv.ParseFloat(string(field), 32)
	return float32(x), err == nil && !math.IsNaN(x) && !math.IsInf(x, 0)
}
