package bitext

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func TestSingleSpaced(t *testing.T) {
	for _, line := range []string{"", "a", "a b", " a", "a ", "a  b", "a\tb", "a\u00a0b", "a \u2003 b", "ü ß",
		"\xff \xfe", " ", "a\u0085"} {
		if want := strings.Join(strings.Fields(line), " ") == line; singleSpaced(line) != want {
			t.Errorf("%q: %v", line, !want)
		}
	}
}

// TestUnitsAreRememberedWithinBounds: a side that splits a million different words keeps to the bytes of its encoders.
func TestUnitsAreRememberedWithinBounds(t *testing.T) {
	d := TextSettings{Source: "en", Target: "de", SourceUnits: "bpe", TargetUnits: "bpe", Tokenize: "none", Merges: 10,
		Joint: true, JointCodes: true}
	p, err := Learn(d, InMemory([]string{"one two three"}, []string{"eins zwei drei"}), nil)
	if err != nil {
		t.Fatal(err)
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	for i := range 100_000 {
		var line strings.Builder
		for j := range 10 {
			fmt.Fprintf(&line, " %d-one", 10*i+j)
		}
		p.Source.Units(line.String())
	}
	if grown := heap() - before; grown > 3*rememberedBytes/2 {
		t.Errorf("a million words take %d bytes, want %d or so", grown, rememberedBytes)
	}
	runtime.KeepAlive(p)
}
