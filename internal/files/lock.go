package files

import (
	"errors"
	"fmt"
	"os"
)

// errHeld says that another process holds a lock.
var errHeld = errors.New("the lock is held")

// Lock takes a folder's lock, which the kernel frees when the process ends, however it ends.
func Lock(path string) (*os.File, error) {
	folder, err := openToLock(path)
	if err != nil {
		return nil, fmt.Errorf("the folder cannot be locked: %w", err)
	}
	err = LockFile(folder, false)
	if err == nil {
		return folder, nil
	}
	folder.Close()
	if errors.Is(err, errHeld) {
		return nil, &InUse{path}
	}
	return nil, fmt.Errorf("the folder %s cannot be locked: %w", path, err)
}

// InUse is the error of a folder that another process holds.
type InUse struct{ Path string }

func (e *InUse) Error() string {
	return e.Path + " is in use by another process: wait for it to end, or name another folder with -out"
}
