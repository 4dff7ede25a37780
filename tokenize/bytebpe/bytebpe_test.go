package bytebpe

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func tokenizer(t testing.TB) *Tokenizer {
	t.Helper()
	k, err := Read(bytes.NewReader(read(t, "testdata/vocab.json")), "vocab.json",
		bytes.NewReader(read(t, "testdata/merges.txt")), "merges.txt")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// half are every other id.
func half(ids []int32) (out []int32) {
	for i := 0; i < len(ids); i += 2 {
		out = append(out, ids[i])
	}
	return out
}

// TestCases compares a few lines with the ids and texts of Hugging Face's tokenizers.
func TestCases(t *testing.T) {
	k := tokenizer(t)
	for scan := bufio.NewScanner(bytes.NewReader(read(t, "testdata/cases.jsonl"))); scan.Scan(); {
		var c struct {
			Line, Text, Half string
			IDs              []int32
		}
		if err := json.Unmarshal(scan.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if got := k.Encode(c.Line); !slices.Equal(got, c.IDs) {
			t.Errorf("%q gives %v, tokenizers %v", c.Line, got, c.IDs)
		}
		if got := k.Decode(c.IDs); got != c.Text {
			t.Errorf("%v decodes to %q, want %q", c.IDs, got, c.Text)
		}
		if got := k.Decode(half(c.IDs)); got != c.Half {
			t.Errorf("%v decodes to %q, want %q", half(c.IDs), got, c.Half)
		}
	}
}

// text is a text of the data, or the random lines.
func text(t testing.TB, name string) []byte {
	t.Helper()
	switch {
	case name == "random":
		return fixtures.Gunzip(t, "../spm/testdata/random.txt.gz")
	case strings.HasPrefix(name, "ptb"):
		return read(t, fixtures.Path(t, "ptb/"+name))
	}
	return read(t, fixtures.Path(t, "multi30k/"+name))
}

// TestLearn compares the files that are learnt from texts with those of Hugging Face's tokenizers, byte for byte.
func TestLearn(t *testing.T) {
	var goldens map[string]map[string]any
	if err := json.Unmarshal(read(t, "testdata/learnt.json"), &goldens); err != nil {
		t.Fatal(err)
	}
	for name, want := range goldens {
		t.Run(name, func(t *testing.T) {
			var counts Counts
			for line := range bytes.Lines(text(t, name)) {
				counts.Add(line)
			}
			var vocabulary, merges bytes.Buffer
			if err := Learn(&counts, int(want["size"].(float64))).Write(&vocabulary, &merges); err != nil {
				t.Fatal(err)
			}
			for file, data := range map[string][]byte{"vocab.json": vocabulary.Bytes(), "merges.txt": merges.Bytes()} {
				if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want[file] {
					t.Errorf("%s differs from that of tokenizers", file)
				}
			}
			k, err := Read(&vocabulary, "vocab.json", &merges, "merges.txt")
			if err != nil {
				t.Fatal(err)
			}
			var again, all []int32
			encoder := k.Encoder()
			for line := range bytes.Lines(text(t, name)[:10_000]) {
				again, all = encoder.Append(again, line), append(all, k.Encode(string(line))...)
			}
			if !slices.Equal(again, all) {
				t.Error("an encoder that remembers words gives other ids")
			}
		})
	}
}

// TestTexts compares the ids of whole texts, and what they decode to, with those of Hugging Face's tokenizers.
func TestTexts(t *testing.T) {
	k := tokenizer(t)
	var goldens map[string]struct{ IDs, Text string }
	if err := json.Unmarshal(read(t, "testdata/sums.json"), &goldens); err != nil {
		t.Fatal(err)
	}
	for name, want := range goldens {
		t.Run(name, func(t *testing.T) {
			data := text(t, name)
			ids, text := sha256.New(), sha256.New()
			for _, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
				encoded := k.Encode(line)
				fmt.Fprintln(ids, strings.Trim(fmt.Sprint(encoded), "[]"))
				fmt.Fprintln(text, k.Decode(encoded))
				fmt.Fprintln(text, k.Decode(half(encoded)))
				if k.Decode(encoded) != line {
					t.Errorf("%q comes back as %q", line, k.Decode(encoded))
				}
			}
			if got := hex.EncodeToString(ids.Sum(nil)); got != want.IDs {
				t.Error("the ids differ from those of tokenizers")
			}
			if got := hex.EncodeToString(text.Sum(nil)); got != want.Text {
				t.Error("the texts differ from those of tokenizers")
			}
		})
	}
}

// TestHostile reads damaged files: an error of one line, or a tokenizer that works.
func TestHostile(t *testing.T) {
	vocabulary, merges := read(t, "testdata/vocab.json"), read(t, "testdata/merges.txt")
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 1000 {
		v, m := slices.Clone(vocabulary), slices.Clone(merges)
		bad := &v
		if i%2 == 1 {
			bad = &m
		}
		if i%4 < 2 {
			*bad = (*bad)[:r.IntN(len(*bad))]
		} else {
			for range 1 + r.IntN(10) {
				(*bad)[r.IntN(len(*bad))] = byte(r.IntN(256))
			}
		}
		k, err := Read(bytes.NewReader(v), "vocab.json", bytes.NewReader(m), "merges.txt")
		if err != nil {
			if strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), []string{"", ":"}[i%2]) {
				t.Errorf("error %q", err)
			}
			continue
		}
		if text := "Zwei junge Männer"; k.Decode(k.Encode(text)) == "" {
			t.Errorf("%q is lost", text)
		}
	}
	_, err := Read(strings.NewReader(`{"a": 0}`), "v.json", strings.NewReader(""), "m.txt")
	if err == nil || err.Error() != "v.json: the byte 0x00, written Ā, is missing: it is no byte-level vocabulary" {
		t.Errorf("a vocabulary without bytes: %v", err)
	}
	_, err = Read(bytes.NewReader(vocabulary), "v.json", strings.NewReader("#version: 0.2\na b c\n"), "m.txt")
	if err == nil || err.Error() != `m.txt:2: "a b c" should be two units with a space between them` {
		t.Errorf("a line of three units: %v", err)
	}
}

// TestTwoMergesOfAPair: the later one counts, as in Hugging Face's tokenizers.
func TestTwoMergesOfAPair(t *testing.T) {
	ids := map[string]int{"bc": 256, "ab": 257}
	for i, letter := range printable {
		ids[string(letter)] = i
	}
	vocabulary, err := json.Marshal(ids)
	if err != nil {
		t.Fatal(err)
	}
	k, err := Read(bytes.NewReader(vocabulary), "vocab.json", strings.NewReader("b c\na b\nb c\n"), "merges.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := k.Encode("abc"), []int32{257, int32(ids["c"])}; !slices.Equal(got, want) {
		t.Errorf("abc gives %v, want %v", got, want)
	}
}

// TestLongWord needs less than quadratic time.
func TestLongWord(t *testing.T) {
	if n := len(tokenizer(t).Encode(strings.Repeat("ein", 300_000))); n == 0 {
		t.Error("nothing")
	}
}
