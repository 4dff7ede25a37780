package files

import (
	"os"
	"path/filepath"
)

// Write writes a file whole or not at all: to a temporary name beside it, synced, then renamed. A full disk is told as
// such.
func Write(path string, data []byte) error {
	folder := filepath.Dir(path)
	temp, err := os.CreateTemp(folder, "."+filepath.Base(path)+".*")
	if err != nil {
		return DiskFull(err)
	}
	_, err = temp.Write(data)
	if err == nil {
		err = temp.Chmod(0o644)
	}
	if err == nil {
		err = temp.Sync()
	}
	if closed := temp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		os.Remove(temp.Name())
		return DiskFull(err)
	}
	return SyncFolder(folder)
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
