package vectors

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aperture-ml/aperture/tokenize"
)

// slowText reads text vectors as the package did before it read in pieces: line by line, each number with strconv, and
// the mean of all words that stand for no symbol.
func slowText(t *testing.T, content string, v *tokenize.Vocabulary) *Table {
	t.Helper()
	c := &collector{v: v}
	for line := range strings.Lines(content) {
		f := strings.Fields(line)
		if c.table == nil {
			c.begin(len(f) - 1)
		}
		vector, row := make([]float32, c.table.Width), make([]float64, c.table.Width)
		for i, field := range f[1:] {
			x, ok := parseAny([]byte(field))
			if !ok {
				t.Fatal(line)
			}
			vector[i], row[i] = x, float64(x)
		}
		switch what, _ := c.fate([]byte(f[0]), 0); what {
		case kept:
			c.keep(f[0], vector)
		case averaged:
			c.outside(1, row)
		}
	}
	if err := c.check("slow"); err != nil {
		t.Fatal(err)
	}
	return c.finish()
}

// TestTextInPieces: a text of many pieces gives bit for bit what reading it line by line gives, on any number of
// processors, and errors name the right line.
func TestTextInPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var b strings.Builder
	var some []string
	const lines, width = 30_000, 31
	for i := range lines {
		word := fmt.Sprintf("w%dß", i)
		if r.IntN(3) == 0 {
			some = append(some, word)
		}
		b.WriteString(word)
		for range width {
			fmt.Fprintf(&b, " %.5g", r.NormFloat64()/10)
		}
		b.WriteString(" \n")
	}
	content := b.String()
	if len(content) < 5*pieceBytes {
		t.Fatalf("%d bytes are few pieces", len(content))
	}
	counts := map[string]int{}
	for _, word := range some {
		counts[word] = 3
	}
	v := tokenize.NewVocabulary(counts, tokenize.VocabularyOptions{})
	want := slowText(t, content, v)
	for _, processors := range []int{1, 4} {
		before := runtime.GOMAXPROCS(processors)
		got, err := open(t, "x.vec", content, v)
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		if got.Hash() != want.Hash() || got.Unused != lines-len(some) || got.Known != len(some) {
			t.Errorf("%d processors give other vectors than one line after the other: %d unused, %d known", processors,
				got.Unused, got.Known)
		}
	}
	at := strings.Index(content, "w29000ß")
	for change, says := range map[string]string{
		"\n": ":29002: expected a word and 31 numbers", "1 w\n": ":29001: expected a word and 31 numbers",
	} {
		if _, err := open(t, "x.vec", content[:at]+change+"x 1 2 3\n"+content[at:], v); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("the error is %v, want one with %q", err, says)
		}
	}
}

// TestMeanOfSomeWords: behind the first bytes of a large file some words stand for all, and the mean is nearly that of
// all.
func TestMeanOfSomeWords(t *testing.T) {
	v := words("the")
	c := &collector{v: v}
	c.begin(3)
	exact, r, n := make([]float64, 3), rand.New(rand.NewPCG(9, 10)), 0
	for i := range 200_000 {
		word := fmt.Sprint("word", i)
		row := []float64{0.3 + r.NormFloat64(), -0.2 + r.NormFloat64(), 0.1 + r.NormFloat64()}
		for j, x := range row {
			exact[j] += x
		}
		what, words := c.fate([]byte(word), exactBytes+int64(i))
		if what == passed {
			c.outside(words, nil)
			continue
		}
		n++
		for j := range row {
			row[j] *= float64(words)
		}
		c.outside(1, row)
	}
	if c.table.Unused != 200_000 || n < 200_000/stride*9/10 || n > 200_000/stride*11/10 {
		t.Errorf("%d words are outside, and %d were read", c.table.Unused, n)
	}
	dot, one, other := 0.0, 0.0, 0.0
	for j, x := range exact {
		dot, one, other = dot+x*c.sum[j], one+x*x, other+c.sum[j]*c.sum[j]
	}
	if cosine := dot / math.Sqrt(one*other); cosine < 0.98 {
		t.Errorf("the means have the cosine %v", cosine)
	}
}

// BenchmarkOpenText reads 400,000 vectors of 300 numbers, 0.9 GB, of which a text has 10,000, and says how many times
// as long that takes as counting the lines.
func BenchmarkOpenText(b *testing.B) {
	r := rand.New(rand.NewPCG(11, 12))
	path := filepath.Join(b.TempDir(), "x.vec")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	numbers := make([][]byte, 1024)
	for i := range numbers {
		numbers[i] = strconv.AppendFloat([]byte{' '}, r.NormFloat64()/10, 'f', 4, 32)
	}
	out := bufio.NewWriter(f)
	counts := map[string]int{}
	for i := range 400_000 {
		word := fmt.Sprint("word", i)
		if i%40 == 0 {
			counts[word] = 1
		}
		out.WriteString(word)
		for range 300 {
			out.Write(numbers[r.Uint32()%1024])
		}
		out.WriteByte('\n')
	}
	if err := out.Flush(); err != nil {
		b.Fatal(err)
	}
	v := tokenize.NewVocabulary(counts, tokenize.VocabularyOptions{})
	var counting, reading time.Duration
	for b.Loop() {
		start := time.Now()
		if err := exec.Command("wc", "-l", path).Run(); err != nil {
			b.Fatal(err)
		}
		counting += time.Since(start)
		start = time.Now()
		if _, err := Open(path, v); err != nil {
			b.Fatal(err)
		}
		reading += time.Since(start)
	}
	b.ReportMetric(reading.Seconds()/counting.Seconds(), "wc-l")
}
