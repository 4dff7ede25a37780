package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
// it, and wraps err.
func Missing(err error) error {
	var path *fs.PathError
	if !errors.As(err, &path) || !errors.Is(path, fs.ErrNotExist) {
		return err
	}
	said := "there is no file " + path.Path
	if folder := filepath.Dir(path.Path); folder != path.Path {
		if _, other := os.Stat(folder); errors.Is(other, fs.ErrNotExist) {
			said = "there is no folder " + folder + ", and so no " + path.Path
		}
	}
	return &missingError{strings.Replace(err.Error(), path.Error(), said, 1), err}
}

type missingError struct {
	text string
	err  error
}

func (e *missingError) Error() string { return e.text }

func (e *missingError) Unwrap() error { return e.err }
