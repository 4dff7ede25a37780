package files

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
)

// Sum computes a file's SHA-256 in the background, and returns what waits for it: hexadecimal, or empty for no regular
// file, which could not be read twice. It is slower than reading text: begin it early.
func Sum(path string) func() (string, error) {
	done := make(chan struct{})
	var text string
	var failed error
	go func() {
		defer close(done)
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			failed = err
			return
		}
		f, err := os.Open(path)
		if err != nil {
			failed = err
			return
		}
		defer f.Close()
		sum := sha256.New()
		if _, err := io.CopyBuffer(sum, struct{ io.Reader }{f}, make([]byte, 1<<20)); err != nil {
			failed = fmt.Errorf("%s: %w", path, err)
			return
		}
		text = hex.EncodeToString(sum.Sum(nil))
	}()
	return func() (string, error) {
		<-done
		return text, failed
	}
}
