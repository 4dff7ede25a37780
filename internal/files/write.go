package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Write writes a file whole or not at all: to a temporary name beside it, synced, then renamed. A full disk is told as
// such.
func Write(path string, data []byte) error {
	w, err := Create(path)
	if err != nil {
		return err
	}
	defer w.Discard()
	if _, err := w.Write(data); err != nil {
		return err
	}
	return w.Commit()
}

// Writer writes a file of any size whole or not at all: what it is given goes to a temporary name beside the file, which
// Commit makes the file's. It is for one goroutine.
type Writer struct {
	temp *os.File
	path string
	done bool
}

// Create begins to write a file. Discard must follow, also after Commit.
func Create(path string) (*Writer, error) {
	temp, err := os.CreateTemp(filepath.Dir(path), TempPattern(path))
	if err != nil {
		return nil, DiskFull(err)
	}
	return &Writer{temp: temp, path: path}, nil
}

// TempPattern is the pattern of the names, within a file's folder, that the file has while it is written. After a kill
// such a name can be left.
func TempPattern(path string) string { return "." + filepath.Base(path) + ".*" }

// Write adds to the file.
func (w *Writer) Write(data []byte) (int, error) {
	n, err := w.temp.Write(data)
	return n, DiskFull(w.named(err))
}

// named gives an error the name that the file is to have.
func (w *Writer) named(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) && path.Path == w.temp.Name() {
		path.Path = w.path
	}
	return err
}

// Commit syncs what was written and gives it the file's name.
func (w *Writer) Commit() error {
	err := w.temp.Chmod(0o644)
	if err == nil {
		err = w.temp.Sync()
	}
	if closed := w.temp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(w.temp.Name(), w.path)
	}
	if err != nil {
		os.Remove(w.temp.Name())
	}
	w.done = true
	if err != nil {
		return DiskFull(w.named(err))
	}
	return SyncFolder(filepath.Dir(w.path))
}

// Discard forgets what was written, unless Commit was called.
func (w *Writer) Discard() {
	if !w.done {
		w.temp.Close()
		os.Remove(w.temp.Name())
		w.done = true
	}
}

// SyncFolder makes the names in a folder survive a power cut.
func SyncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	return DiskFull(folder.Sync())
}
