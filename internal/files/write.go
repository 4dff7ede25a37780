package files

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Write writes a file whole or not at all: under a temporary name beside it, synced, then renamed.
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

// Writer writes a file of any size whole or not at all: under a temporary name until Commit. It is for one goroutine.
type Writer struct {
	temp *os.File
	path string
	done bool

	device bool // temp is what has the path
	stream bool // temp is a standard stream, which stays open
}

// Stream is the standard stream that a path such as /dev/stdout leads to, nil for any other path. The path leads to
// something: links in a circle have no end.
func Stream(path string) *os.File {
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if own, missing := filepath.EvalSymlinks("/proc/self/fd"); err != nil || missing != nil {
		return nil
	} else if folder == own {
		return map[string]*os.File{"1": os.Stdout, "2": os.Stderr}[filepath.Base(path)]
	}
	target, err := os.Readlink(path)
	if err != nil {
		return nil
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(folder, target)
	}
	return Stream(target)
}

// Create begins to write a file. Discard must follow, also after Commit. A device or a pipe, such as /dev/stdout, takes
// what is written at once: a file of its name would take its place. /dev/stdout does so also where it is directed into
// a file.
func Create(path string) (*Writer, error) {
	switch info, err := os.Stat(path); {
	case err != nil: // CreateTemp says what hinders a new file
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder, where a file is wanted: name another path, or remove the folder", path)
	case !info.Mode().IsRegular():
		device, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &Writer{temp: device, path: path, device: true}, nil
	default:
		if standard := Stream(path); standard != nil {
			return &Writer{temp: standard, path: path, stream: true}, nil
		}
	}
	temp, err := CreateTemp(filepath.Dir(path), TempPattern(path))
	if err != nil {
		return nil, DiskFull(named(err, path))
	}
	return &Writer{temp: temp, path: path}, nil
}

// CreateTemp is os.CreateTemp with the mode of any new file, as the umask has it.
func CreateTemp(folder, pattern string) (*os.File, error) {
	prefix, suffix, _ := strings.Cut(pattern, "*")
	for {
		name := filepath.Join(folder, fmt.Sprint(prefix, rand.Uint32(), suffix))
		file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return file, err
		}
	}
}

// TempPattern is the pattern of a file's temporary names in its folder, which a kill can leave behind.
func TempPattern(path string) string { return "." + filepath.Base(path) + ".*" }

// Write adds to the file.
func (w *Writer) Write(data []byte) (int, error) {
	n, err := w.temp.Write(data)
	return n, DiskFull(named(err, w.path))
}

// named gives an error of a temporary name the name that the file, or the folder, is to have.
func named(err error, path string) error {
	var of *fs.PathError
	var both *os.LinkError
	if errors.As(err, &of) {
		of.Path = path
	} else if errors.As(err, &both) {
		return &fs.PathError{Op: "write", Path: path, Err: both.Err}
	}
	return err
}

// Commit syncs what was written and renames it to the file, whose mode it keeps.
func (w *Writer) Commit() error {
	switch {
	case w.stream:
		return nil
	case w.device:
		w.done = true
		return w.temp.Close()
	}
	var err error
	if before, missing := os.Stat(w.path); missing == nil {
		err = w.temp.Chmod(before.Mode().Perm())
	}
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
		return DiskFull(named(err, w.path))
	}
	return SyncFolder(filepath.Dir(w.path))
}

// Discard forgets what was written, unless Commit was called.
func (w *Writer) Discard() {
	if w.done || w.stream {
		return
	}
	w.done = true
	w.temp.Close()
	if !w.device {
		os.Remove(w.temp.Name())
	}
}

// MakeFolder is os.MkdirAll of a folder whose name, and the names of those above it, survive a power cut.
func MakeFolder(path string) error {
	var above []string
	for folder := filepath.Clean(path); ; folder = filepath.Dir(folder) {
		info, err := os.Stat(folder)
		if err == nil && !info.IsDir() {
			return fmt.Errorf("%s is a file, where a folder is wanted: name another path, or remove the file", folder)
		}
		if err == nil || folder == filepath.Dir(folder) {
			break
		}
		above = append(above, filepath.Dir(folder))
	}
	if err := os.MkdirAll(path, 0o777); err != nil {
		return err
	}
	for _, folder := range above {
		if err := SyncFolder(folder); err != nil {
			return err
		}
	}
	return nil
}

// SyncFolder makes the names in a folder survive a power cut. Windows does so itself.
func SyncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	return DiskFull(folder.Sync())
}
