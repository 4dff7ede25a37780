package files

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// FuzzUnpack: what is packed comes out in bounded memory, however much that is, and damage is a sentence.
func FuzzUnpack(f *testing.F) {
	long := string(bytes.Repeat([]byte("a"), 1<<20))
	for _, text := range []string{"", "plain", "\x1f", "\x1f\x8b", fixtures.Gzip(f, "text"), fixtures.Zstandard(f, "text"),
		fixtures.Gzip(f, long), fixtures.Zstandard(f, long), "PK\x03\x04", "BZh91AY&SY", "\xfd7zXZ\x00", "\x28\xb5\x2f\xfd",
		fixtures.Gzip(f, "one") + fixtures.Gzip(f, "two"), fixtures.Zstandard(f, "one") + "\x50\x2a\x4d\x18\xff\xff\xff\xff",
		"\x28\xb5\x2f\xfd\xc0\xff\xff\xff\xff\xff\xff\xff\xff\xff"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const most = 64 << 20
		fixtures.Promise(t, len(data)+windows(data), func() error {
			u, err := Unpack(bytes.NewReader(data))
			if err != nil {
				return err
			}
			defer u.Close()
			lines := NewLineReader(io.LimitReader(u, most), MaxLine)
			for {
				line, err := lines.Next()
				switch {
				case errors.Is(err, ErrLongLine):
					continue
				case err != nil || len(line) == 0:
					return err
				}
			}
		})
	})
}

// windows is what unpacking may set aside whatever comes out, for Promise.
func windows(data []byte) int {
	if bytes.HasPrefix(data, []byte("\x28\xb5")) {
		return maxWindow / 32
	}
	return 0
}
