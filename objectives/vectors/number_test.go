package vectors

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestNumbers: as strconv has them, also next to the middle between two float32, at the limits and where nothing is a
// number.
func TestNumbers(t *testing.T) {
	texts := []string{
		"0", "-0", "1", "+1.5", ".5", "5.", "-.25e2", "1e-5", "1E5", "1.00000005960464477539", "16777217", "16777219",
		"33554435", "9007199791611905",
		"3.4028235e38", "3.4028236e38", "1e39", "1.1754944e-38", "1e-45", "1e-46", "123456789012345678",
		"0.000000000000001", "1e22", "1e-22", "1e23", "1e-30",
		"", "-", ".", "e5", "1e", "1e+", "nan", "NaN", "inf", "-Inf", "1,5", "1.5.2", "0x1p-2", "1_000", "١", "1e5x",
		"--1", "1e005",
		"0.50000002980232238769", "0.5000000298023223", "1.000000178813934326171875",
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		x := (r.Float64() - 0.5) * math.Pow(10, float64(r.IntN(80)-40))
		texts = append(texts, strconv.FormatFloat(x, "gfe"[r.IntN(3)], r.IntN(18)-1, 64))
		if y := float32(x); y != 0 && r.IntN(4) == 0 { // halves between neighbours
			middle := (float64(y) + float64(math.Nextafter32(y, 1))) / 2
			texts = append(texts, strconv.FormatFloat(middle, 'g', -1, 64))
		}
	}
	for _, text := range texts {
		want, err := strconv.ParseFloat(text, 32)
		ok := err == nil && !math.IsNaN(want) && !math.IsInf(want, 0)
		got, there := parseNumber([]byte(text))
		if there != ok || ok && math.Float32bits(got) != math.Float32bits(float32(want)) {
			t.Errorf("%q is %v (%v), want %v (%v)", text, got, there, want, err)
		}
	}
}
