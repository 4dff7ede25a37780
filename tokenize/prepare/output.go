package prepare

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"os"
	"path/filepath"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
)

// output is a file that is being written.
type output struct {
	count File
	to    *files.Writer
	hash  hash.Hash
	text  *bufio.Writer
}

// newOutput begins to write a file of a folder.
func newOutput(folder, name string) (*output, error) {
	to, err := files.Create(filepath.Join(folder, name))
	if err != nil {
		return nil, err
	}
	o := &output{count: File{Name: name}, to: to, hash: sha256.New()}
	o.text = bufio.NewWriterSize(o, 1<<18)
	return o, nil
}

// Write takes what the buffer gives.
func (o *output) Write(p []byte) (int, error) {
	o.hash.Write(p)
	o.count.Bytes += int64(len(p))
	return o.to.Write(p)
}

// line adds a line of the given number of tokens.
func (o *output) line(text string, tokens int, ended bool) error {
	o.count.Lines++
	o.count.Tokens += tokens
	_, err := o.text.WriteString(text)
	if err == nil && ended {
		err = o.text.WriteByte('\n')
	}
	return err
}

// commit gives the file its name.
func (o *output) commit() error {
	if err := o.text.Flush(); err != nil {
		return err
	}
	o.count.SHA256 = hex.EncodeToString(o.hash.Sum(nil))
	return o.to.Commit()
}

// removeLeft removes what a kill left behind of the files that a folder is to hold.
func removeLeft(folder string, names []string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, entry := range entries {
		for _, name := range append(names, CountsFile) {
			if ok, _ := filepath.Match(files.TempPattern(name), entry.Name()); ok &&
				!strings.HasSuffix(entry.Name(), name) {
				os.Remove(filepath.Join(folder, entry.Name()))
			}
		}
	}
}
