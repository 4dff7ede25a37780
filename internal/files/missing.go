package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// NoFolder is the error of a folder that is missing, or that is a file; nil where it is there.
func NoFolder(path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s is a file, and a folder is wanted", path)
	case errors.Is(err, fs.ErrNotExist):
		return &missingError{"there is no folder " + path, err}
	}
	return err
}

// Missing returns err, or, if a missing file caused it, an error that names the file or the first missing folder above
// it, or the file in the place of such a folder, and wraps err.
func Missing(err error) error {
	var path *fs.PathError
	if !errors.As(err, &path) {
		return err
	}
	var said string
	switch {
	case errors.Is(path, syscall.ENOTDIR):
		at := path.Path
		for _, other := os.Stat(at); errors.Is(other, syscall.ENOTDIR); _, other = os.Stat(at) {
			at = filepath.Dir(at)
		}
		no := NoFolder(at)
		if no == nil {
			return err
		}
		said = no.Error()
	case errors.Is(path, fs.ErrNotExist):
		said = "there is no file " + path.Path
		if folder := filepath.Dir(path.Path); folder != path.Path {
			if _, other := os.Stat(folder); errors.Is(other, fs.ErrNotExist) {
				said = "there is no folder " + folder + ", and so no " + path.Path
			}
		}
	default:
		return err
	}
	return &missingError{strings.Replace(err.Error(), path.Error(), said, 1), err}
}

type missingError struct {
	text string
	err  error
}

func (e *missingError) Error() string { return e.text }

func (e *missingError) Unwrap() error { return e.err }
