package tokenize

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestCutAtOnce compares both ways to cut pieces out of lines of few letters, in which pieces overlap in every way.
func TestCutAtOnce(t *testing.T) {
	text := func(runs []run) (all string) {
		var b strings.Builder
		for _, r := range runs {
			if r.piece >= 0 {
				b.WriteString("<" + string(rune('A'+r.piece)) + ">")
			} else {
				b.WriteString(r.text)
			}
		}
		return strings.Join(strings.Fields(b.String()), " ")
	}
	r := rand.New(rand.NewPCG(7, 8))
	letters := func(n int, of string) string {
		var b strings.Builder
		for range n {
			b.WriteByte(of[r.IntN(len(of))])
		}
		return b.String()
	}
	for range 3000 {
		line := " " + letters(r.IntN(60), "aab b") + " "
		var pieces []string
		for range r.IntN(50) {
			pieces = append(pieces, letters(1, "ab")+letters(r.IntN(4), "ab ")+letters(1, "ab"))
		}
		if want, got := text(cutInTurn(line, pieces)), text(cutAtOnce(line, pieces)); got != want {
			t.Fatalf("%q without %q is %q, want %q", line, pieces, got, want)
		}
	}
}

// TestManyProtectedPieces: time is that of the line, not its square. 200 kB of URLs took 18 s.
func TestManyProtectedPieces(t *testing.T) {
	moses := newMoses(t, MosesOptions{Protected: []string{`https?://\S+`, `\s@\w+`}})
	var b strings.Builder
	for i := 0; b.Len() < 200_000; i++ {
		b.WriteString("https://example.org/" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) +
			string(rune('a'+i/26%26)) + string(rune('a'+i/676)) + "/ ")
	}
	var spaced strings.Builder
	for i := 0; spaced.Len() < 200_000; i++ {
		spaced.WriteString("a @" + strconv.Itoa(i) + " ")
	}
	for what, line := range map[string]string{
		"different": b.String(), "different, with a space each": spaced.String(), "equal": strings.Repeat("http://example.org/abc ", 8700),
		"with a space each": strings.Repeat("a @bc ", 33_000), "nested": "http://" + strings.Repeat("a", 200_000),
	} {
		// The shortest of a few: other programs may have the processor.
		out, shortest := "", time.Hour
		for range 5 {
			begin := time.Now()
			out = moses.Tokenize(line)
			if shortest = min(shortest, time.Since(begin)); shortest < time.Second {
				break
			}
		}
		if t.Logf("%s: %v", what, shortest); shortest > 5*time.Second {
			t.Errorf("%s pieces of 200 kB take %v", what, shortest)
		}
		if strings.HasPrefix(line, "http") && out != strings.TrimSpace(line) {
			t.Errorf("%s: %.200q became %.200q", what, line, out)
		}
	}
}
