package files

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
)

// Sum computes the SHA-256 of a file in the background, and gives what waits for it: in hexadecimal, and empty for what
// is no regular file and can be read but once. It takes longer than reading text does: begin it early, and wait for it
// late.
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
