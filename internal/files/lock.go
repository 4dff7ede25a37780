package files

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Lock takes a folder's lock (flock), which the kernel frees when the process ends, however it ends.
func Lock(path string) (*os.File, error) {
	folder, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("run folder: %w", err)
	}
	err = syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return folder, nil
	}
	folder.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, &InUse{path}
	}
	return nil, fmt.Errorf("run folder %s cannot be locked: %w", path, err)
}

// InUse is the error of a folder that another process holds.
type InUse struct{ Path string }

func (e *InUse) Error() string {
	return e.Path + " is in use by another process: wait for it to end, or name another folder with -out"
}
