//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package files

import (
	"errors"
	"os"
)

func openToLock(folder string) (*os.File, error) { return os.Open(folder) }

// LockFile fails: this system's Go has no locks that end with their process.
func LockFile(*os.File, bool) error { return errors.ErrUnsupported }
