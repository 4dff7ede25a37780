package tokenize

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"runtime"
)

//go:embed *.go
var sources embed.FS

// Edition hashes the source of this package and others, and Go's version, for its Unicode tables. Another edition may
// make something else of a text: whoever keeps results keeps the edition with them.
func Edition(others ...fs.FS) string {
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version())
	for _, from := range append([]fs.FS{sources}, others...) {
		fs.WalkDir(from, ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			file, err := from.Open(path)
			if err != nil {
				return err
			}
			defer file.Close()
			fmt.Fprintln(sum, path)
			_, err = io.Copy(sum, file)
			return err
		})
	}
	return hex.EncodeToString(sum.Sum(nil))
}
