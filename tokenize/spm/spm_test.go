package spm

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

func model(t testing.TB, name string) *Model {
	t.Helper()
	m, err := Read(bytes.NewReader(fixtures.Gunzip(t, "testdata/"+name+".model.gz")), name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func lines(data []byte) []string { return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") }

// TestCases compares a few lines with the library's pieces, to show a difference where there is one.
func TestCases(t *testing.T) {
	f, err := os.Open("testdata/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	models := map[string]*Model{}
	for scan := bufio.NewScanner(f); scan.Scan(); {
		var c struct {
			Model, Line, Text string
			Pieces            []string
		}
		if err := json.Unmarshal(scan.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if models[c.Model] == nil {
			models[c.Model] = model(t, c.Model)
		}
		m := models[c.Model]
		if got := m.Encode(c.Line); !slices.Equal(got, c.Pieces) {
			t.Errorf("%s: %q gives\n%q, the library\n%q", c.Model, c.Line, got, c.Pieces)
		}
		if got := m.Decode(c.Pieces); got != c.Text {
			t.Errorf("%s: %q decodes to %q, the library's is %q", c.Model, c.Pieces, got, c.Text)
		}
	}
}

// TestTexts compares the pieces of whole texts, and what they decode to, with the library's.
func TestTexts(t *testing.T) {
	var goldens map[string]map[string]struct{ Pieces, Text string }
	data, err := os.ReadFile("testdata/sums.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &goldens); err != nil {
		t.Fatal(err)
	}
	for name, texts := range goldens {
		m := model(t, name)
		for text, want := range texts {
			t.Run(name+"/"+text, func(t *testing.T) {
				var all []string
				switch {
				case text == "random":
					all = lines(fixtures.Gunzip(t, "testdata/random.txt.gz"))
				case strings.HasPrefix(text, "ptb"):
					all = lines(read(t, "ptb/"+text))
				default:
					all = lines(read(t, "multi30k/"+text))
				}
				pieces, decoded := sha256.New(), sha256.New()
				for _, line := range all {
					encoded := m.Encode(line)
					io.WriteString(pieces, strings.Join(encoded, " ")+"\n")
					io.WriteString(decoded, m.Decode(encoded)+"\n")
				}
				if got := hex.EncodeToString(pieces.Sum(nil)); got != want.Pieces {
					t.Errorf("the pieces of %d lines differ from the library's", len(all))
				}
				if got := hex.EncodeToString(decoded.Sum(nil)); got != want.Text {
					t.Errorf("the texts of %d lines differ from the library's", len(all))
				}
			})
		}
	}
}

func read(t *testing.T, name string) []byte {
	data, err := os.ReadFile(fixtures.Path(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestHostile reads damaged models: an error of one line, or a model that works.
func TestHostile(t *testing.T) {
	text := "Zwei junge Männer \xff <sep> ㌔ ein Mann"
	for _, name := range []string{"unigram", "bpe_bytes", "unigram_suffix", "bpe_plain"} {
		good := fixtures.Gunzip(t, "testdata/"+name+".model.gz")
		r := rand.New(rand.NewPCG(1, 2))
		for i := range 500 {
			bad := slices.Clone(good)
			switch i % 4 {
			case 0:
				bad = bad[:r.IntN(len(bad))]
			case 1:
				for range 1 + r.IntN(20) {
					bad[r.IntN(len(bad))] = byte(r.IntN(256))
				}
			case 2: // near the end are the settings and the normalisation
				for range 1 + r.IntN(10) {
					bad[len(bad)-1-r.IntN(min(len(bad), 1000))] = byte(r.IntN(256))
				}
			case 3:
				from := r.IntN(len(bad))
				bad = slices.Delete(bad, from, min(len(bad), from+1+r.IntN(100)))
			}
			began := time.Now()
			m, err := Read(bytes.NewReader(bad), "x.spm")
			if err != nil {
				if !strings.HasPrefix(err.Error(), "x.spm: ") || strings.Contains(err.Error(), "\n") {
					t.Errorf("error %q", err)
				}
				continue
			}
			m.Decode(m.Encode(text))
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("%s, damage %d took %v", name, i, took)
			}
		}
	}
}

// TestMemory bounds what the largest file that is read can take.
func TestMemory(t *testing.T) {
	var long []byte
	r := rand.New(rand.NewPCG(3, 4))
	for len(long) < maxFile-2*maxPiece {
		body := append([]byte{0x0A}, varint(maxPiece)...)
		for range maxPiece {
			body = append(body, byte('a'+r.IntN(26)))
		}
		long = append(append(append(long, 0x0A), varint(len(body))...), body...)
	}
	unk := append([]byte{0x0A, 9, 0x0A, 5}, "<unk>"...)
	long = append(append(long, unk...), 0x18, 2)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if _, err := Read(bytes.NewReader(long), "x.spm"); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 1500<<20 {
		t.Errorf("a model of %d bytes took %d", len(long), used)
	}
	if _, err := Read(bytes.NewReader(make([]byte, maxFile+1)), "x.spm"); err == nil ||
		err.Error() != "x.spm: a SentencePiece model has at most 16 MiB" {
		t.Errorf("too large a file: %v", err)
	}
}

func varint(n int) (out []byte) {
	for ; n >= 128; n >>= 7 {
		out = append(out, byte(n)|128)
	}
	return append(out, byte(n))
}

func BenchmarkEncode(b *testing.B) {
	for _, name := range []string{"unigram", "bpe"} {
		b.Run(name, func(b *testing.B) {
			m := model(b, name)
			for b.Loop() {
				m.Encode("Zwei junge weiße Männer sind im Freien in der Nähe vieler Büsche.")
			}
		})
	}
}
