package files

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"
)

// openToLock opens what stands for a folder's lock: a file in it, since Windows locks no folders.
func openToLock(folder string) (*os.File, error) {
	return os.OpenFile(filepath.Join(folder, ".lock"), os.O_RDWR|os.O_CREATE, 0o666)
}

var lockFileEx = syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx")

// LockFile locks an open file until it is closed. If another process holds the lock, it waits or fails at once. The
// locked byte lies far behind the content, which others could not read otherwise.
func LockFile(file *os.File, wait bool) error {
	const failImmediately, exclusive, lockViolation = 1, 2, syscall.Errno(33)
	how := uintptr(exclusive)
	if !wait {
		how |= failImmediately
	}
	place := syscall.Overlapped{OffsetHigh: 1 << 30}
	done, _, err := lockFileEx.Call(file.Fd(), how, 0, 1, 0, uintptr(unsafe.Pointer(&place)))
	switch {
	case done != 0:
		return nil
	case errors.Is(err, lockViolation):
		return errHeld
	}
	return err
}
