package files

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// DiskFull returns err, or, if a full disk or quota caused it, an error that names the file and what to do, and wraps
// err.
func DiskFull(err error) error {
	if already := new(diskFullError); errors.As(err, &already) {
		return err
	}
	return DiskFullSay(err, "run the same command again")
}

// DiskFullSay is DiskFull with other advice.
func DiskFullSay(err error, then string) error {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	what := "the run folder"
	var path *fs.PathError
	var link *os.LinkError
	if errors.As(err, &path) {
		what = path.Path
	} else if errors.As(err, &link) {
		what = link.New
	}
	return &diskFullError{what, then, err}
}

type diskFullError struct {
	path, then string
	err        error
}

func (e *diskFullError) Error() string {
	return "the disk that holds " + e.path + " is full: free space and " + e.then
}

func (e *diskFullError) Unwrap() error { return e.err }
