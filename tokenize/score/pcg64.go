package score

import "math/bits"

// PCG64 is O'Neill's generator PCG XSL RR 128/64 (2014), seeded and read as NumPy's default_rng.
type PCG64 struct {
	stateHi, stateLo uint64
	incHi, incLo     uint64
	half             uint32 // the upper half of the last 64 bits drawn
	hasHalf          bool
}

// NewPCG64 is the generator that NumPy makes of a seed.
func NewPCG64(seed uint64) *PCG64 {
	words := seedSequence(seed)
	g := &PCG64{
		incHi: words[2]<<1 | words[3]>>63,
		incLo: words[3]<<1 | 1,
	}
	g.step()
	var carry uint64
	g.stateLo, carry = bits.Add64(g.stateLo, words[1], 0)
	g.stateHi, _ = bits.Add64(g.stateHi, words[0], carry)
	g.step()
	return g
}

// step advances the 128-bit linear congruential state.
func (g *PCG64) step() {
	const multiplierHi, multiplierLo = 0x2360ed051fc65da4, 0x4385df649fccf645
	hi, lo := bits.Mul64(g.stateLo, multiplierLo)
	hi += g.stateHi*multiplierLo + g.stateLo*multiplierHi
	var carry uint64
	g.stateLo, carry = bits.Add64(lo, g.incLo, 0)
	g.stateHi, _ = bits.Add64(hi, g.incHi, carry)
}

func (g *PCG64) uint64() uint64 {
	g.step()
	return bits.RotateLeft64(g.stateHi^g.stateLo, -int(g.stateHi>>58))
}

// Uint32 hands out each 64-bit draw as two halves, the lower one first.
func (g *PCG64) Uint32() uint32 {
	if g.hasHalf {
		g.hasHalf = false
		return g.half
	}
	x := g.uint64()
	g.half, g.hasHalf = uint32(x>>32), true
	return uint32(x)
}

// below draws an integer in [0, n), 1 <= n < 2^32, by Lemire's multiplication (2019); n = 1 draws nothing.
func (g *PCG64) below(n uint32) int {
	if n == 1 {
		return 0
	}
	product := uint64(g.Uint32()) * uint64(n)
	if uint32(product) < n {
		threshold := -n % n
		for uint32(product) < threshold {
			product = uint64(g.Uint32()) * uint64(n)
		}
	}
	return int(product >> 32)
}

// seedSequence spreads a seed over four 64-bit words as NumPy's SeedSequence: a pool of four 32-bit words is mixed by
// multiplicative hashes and read out through another.
func seedSequence(seed uint64) [4]uint64 {
	entropy := [4]uint32{uint32(seed), uint32(seed >> 32)}

	constant := uint32(0x43b0d7e5)
	hash := func(x uint32) uint32 {
		x ^= constant
		constant *= 0x931e8875
		x *= constant
		return x ^ x>>16
	}
	var pool [4]uint32
	for i := range pool {
		pool[i] = hash(entropy[i])
	}
	for from := range pool {
		for to := range pool {
			if from != to {
				mixed := 0xca01f9dd*pool[to] - 0x4973f715*hash(pool[from])
				pool[to] = mixed ^ mixed>>16
			}
		}
	}

	constant = 0x8b51f9dd
	var words [8]uint32
	for i := range words {
		x := pool[i%4] ^ constant
		constant *= 0x58f38ded
		x *= constant
		words[i] = x ^ x>>16
	}
	var out [4]uint64
	for i := range out {
		out[i] = uint64(words[2*i]) | uint64(words[2*i+1])<<32
	}
	return out
}
