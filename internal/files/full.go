package files

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// DiskFull returns err, or, where a full disk or an exhausted quota caused it, an error that says so, names the file
// and says what to do. It still wraps err.
func DiskFull(err error) error {
	if already := new(diskFullError); errors.As(err, &already) {
		return err
	}
	return DiskFullSay(err, "run the same command again")
}

// DiskFullSay is DiskFull with what to do, once there is space, in the words of a program that can do better than begin
// again.
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
