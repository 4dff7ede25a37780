package tokenize

// mersenneTwister is MT19937 (Matsumoto and Nishimura, 1998), seeded as Python's random.seed, for subword-nmt's draws.
type mersenneTwister struct {
	state [mtSize]uint32
	next  int
}

const (
	mtSize  = 624
	mtShift = 397
)

// newMersenneTwister seeds with the 32-bit digits of |seed|, lowest first.
func newMersenneTwister(seed int64) *mersenneTwister {
	magnitude := uint64(seed)
	if seed < 0 {
		magnitude = -magnitude
	}
	key := []uint32{uint32(magnitude)}
	if high := uint32(magnitude >> 32); high != 0 {
		key = append(key, high)
	}
	m := &mersenneTwister{}
	m.seedByArray(key)
	return m
}

func (m *mersenneTwister) seedByArray(key []uint32) {
	s := &m.state
	s[0] = 19650218
	for i := 1; i < mtSize; i++ {
		s[i] = 1812433253*(s[i-1]^s[i-1]>>30) + uint32(i)
	}
	i, j := 1, 0
	for range max(mtSize, len(key)) {
		s[i] = (s[i] ^ (s[i-1]^s[i-1]>>30)*1664525) + key[j] + uint32(j)
		if i++; i == mtSize {
			s[0], i = s[mtSize-1], 1
		}
		if j++; j == len(key) {
			j = 0
		}
	}
	for range mtSize - 1 {
		s[i] = (s[i] ^ (s[i-1]^s[i-1]>>30)*1566083941) - uint32(i)
		if i++; i == mtSize {
			s[0], i = s[mtSize-1], 1
		}
	}
	s[0] = 1 << 31
	m.next = mtSize
}

func (m *mersenneTwister) uint32() uint32 {
	if m.next == mtSize {
		s := &m.state
		for i := range s {
			y := s[i]&(1<<31) | s[(i+1)%mtSize]&(1<<31-1)
			v := s[(i+mtShift)%mtSize] ^ y>>1
			if y&1 != 0 {
				v ^= 0x9908b0df
			}
			s[i] = v
		}
		m.next = 0
	}
	y := m.state[m.next]
	m.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// float64 draws from [0, 1) with 53 random bits.
func (m *mersenneTwister) float64() float64 {
	high, low := m.uint32()>>5, m.uint32()>>6
	return (float64(high)*(1<<26) + float64(low)) / (1 << 53)
}
