package files

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// WriteFolder makes a folder whole or not at all: write fills one of a temporary name beside it, whose files are synced
// before it is renamed. A path that exists is an error, and stays as it is.
func WriteFolder(path string, write func(folder string) error) error {
	path = filepath.Clean(path)
	if err := Vacant(path); err != nil {
		return err
	}
	temp := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d", filepath.Base(path), rand.Uint32()))
	if err := os.Mkdir(temp, 0o777); err != nil {
		return DiskFull(named(err, path))
	}
	defer os.RemoveAll(temp)
	if err := write(temp); err != nil {
		return DiskFull(err)
	}
	err := filepath.WalkDir(temp, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return SyncFolder(name) // which syncs a file as well
	})
	if err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return DiskFull(named(err, path))
	}
	return SyncFolder(filepath.Dir(path))
}

// Vacant is an error where something has that path already.
func Vacant(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			return err
		}
		return fmt.Errorf("%s exists already: name another path, or remove it", path)
	}
	return nil
}
