package spm

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// FuzzRead: a model that can be read splits and joins any text, in memory that the text bounds.
func FuzzRead(f *testing.F) {
	models, err := filepath.Glob("testdata/*.model.gz")
	if err != nil || len(models) == 0 {
		f.Fatal(models, err)
	}
	for _, path := range models {
		data := fixtures.Gunzip(f, path)
		f.Add(data[:min(len(data), 2000)], "Zwei junge Männer")
	}
	for _, m := range hostile() {
		f.Add(m, strings.Repeat("a", 200)+" b")
	}
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		var m *Model
		if fixtures.Promise(t, len(data), func() (err error) {
			m, err = Read(bytes.NewReader(data), "source.spm")
			return err
		}) != nil {
			return
		}
		fixtures.Promise(t, maxReplacement*len(text), func() error {
			pieces := m.Encode(text)
			m.Decode(pieces)
			for _, p := range pieces {
				if id := m.ID(p); id < 0 || id >= m.Len() {
					t.Errorf("%q has the id %d of %d", p, id, m.Len())
				}
			}
			return nil
		})
	})
}

// TestTooLong: pieces and texts that would make a small file cost much are refused.
func TestTooLong(t *testing.T) {
	const unk = "<unk>"
	for says, parts := range map[string][2]string{
		"piece 1 has 1025 bytes, and a piece has at most 1024": {unit("a", normal),
			unit(strings.Repeat("a", maxPiece+1), normal)},
		"the file is damaged": {message(2, message(44, "z")),
			message(2, message(44, strings.Repeat("z", maxReplacement+1)))},
	} {
		for i, part := range parts {
			_, err := Read(strings.NewReader(unit(unk, unknown)+part), "x.spm")
			if (err == nil) != (i == 0) || i == 1 && !strings.Contains(err.Error(), says) {
				t.Errorf("%d: %v, want %s", i, err, says)
			}
		}
	}
}

// message is a field of bytes of a Protocol Buffers message.
func message(number int, content string) string {
	return string(varint(number<<3|wireBytes)) + string(varint(len(content))) + content
}

// unit is a piece of a model with a kind.
func unit(text string, k kind) string {
	return message(1, message(1, text)+string([]byte{3 << 3, byte(k)}))
}

// hostile are models that hold together and mean harm.
func hostile() (all [][]byte) {
	array := "\x08\x00\x00\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"
	for _, m := range []string{
		unit("<unk>", unknown) + unit("a", normal),
		unit("<unk>", unknown) + unit(strings.Repeat("a", 60000), normal),
		unit("<unk>", unknown) + unit(strings.Repeat("a", 60000), userDefined) + message(2, "\x18\x02"),
		unit("<unk>", unknown) + unit("<0xZZ>", byteValue),
		unit("<unk>", unknown) + message(3, message(2, array+"x\x00")),
		unit("<unk>", unknown) + message(2, message(44, strings.Repeat("z", 9000))),
		strings.Repeat("\x0a\x00", 5000),
	} {
		all = append(all, []byte(m))
	}
	return all
}
