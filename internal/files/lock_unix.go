//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package files

import (
	"errors"
	"os"
	"syscall"
)

// openToLock opens what stands for a folder's lock: the folder.
func openToLock(folder string) (*os.File, error) { return os.Open(folder) }

// LockFile locks an open file (flock) until it is closed. If another process holds the lock, it waits or fails at once.
func LockFile(file *os.File, wait bool) error {
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	err := syscall.Flock(int(file.Fd()), how)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errHeld
	}
	return err
}
