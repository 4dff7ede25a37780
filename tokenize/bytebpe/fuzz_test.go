package bytebpe

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// FuzzRead gives both files any content, and units and merges beside those of the 256 bytes: a tokenizer that can be
// read gives every text back.
func FuzzRead(f *testing.F) {
	whole, merges := read(f, "testdata/vocab.json"), read(f, "testdata/merges.txt")
	f.Add(whole, merges)
	for _, vocabulary := range []string{"", "{}", "[]", `{"a": 1e99}`, `{"a": -1}`, `{"th": 256}`, `{"th": 999999999}`,
		`{"th": 256, "the": 257, "": 258}`, `{"th": 0}`,
		`{"th": ` + strings.Repeat("9", 1600) + "}", "{\"a\nb\": 256, \"a\nc\": 256}"} {
		for _, merges := range []string{"", "#version: 0.2\nt h\nth e\n", "t h\nt h\n", "t  h\n", "t\n", "x y\n", "t h\r\n"} {
			f.Add([]byte(vocabulary), []byte(merges))
		}
	}
	bytesAlone := map[string]int{}
	for b, r := range printable {
		bytesAlone[string(r)] = b
	}
	f.Fuzz(func(t *testing.T, vocabulary, merges []byte) {
		files := [][]byte{vocabulary}
		units := map[string]int{}
		if json.Unmarshal(vocabulary, &units) == nil { // and the same beside all bytes
			for unit, id := range bytesAlone {
				units[unit] = id
			}
			if more, err := json.Marshal(units); err == nil {
				files = append(files, more)
			}
		}
		for _, file := range files {
			var k *Tokenizer
			if fixtures.Promise(t, len(file)+len(merges), func() (err error) {
				k, err = Read(bytes.NewReader(file), "vocab.json", bytes.NewReader(merges), "merges.txt")
				return err
			}) != nil {
				continue
			}
			const text = "the théâtre\n  3 they'll \x01"
			if got := k.Decode(k.Encode(text)); got != text {
				t.Errorf("%q comes back as %q", text, got)
			}
		}
	})
}
