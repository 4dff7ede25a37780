package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"
)

// A full disk is reported as such, with the file and what to do, whatever the error says around it.
func TestDiskFull(t *testing.T) {
	says := func(what string) string {
		return "the disk that holds " + what + " is full: free space and run the same command again"
	}
	write := &fs.PathError{Op: "write", Path: "/x/step-3.tmp", Err: syscall.ENOSPC}
	for _, test := range []struct {
		err  error
		want string
	}{
		{write, says("/x/step-3.tmp")},
		{fmt.Errorf("saving: %w", write), says("/x/step-3.tmp")},
		{DiskFull(write), says("/x/step-3.tmp")},
		{fmt.Errorf("checkpoint: %w", DiskFull(write)), "checkpoint: " + says("/x/step-3.tmp")},
		{&fs.PathError{Op: "write", Path: "/x/quota", Err: syscall.EDQUOT}, says("/x/quota")},
		{&os.LinkError{Op: "rename", Old: "/x/a", New: "/x/b", Err: syscall.ENOSPC}, says("/x/b")},
		{errors.Join(errors.New("first"), syscall.ENOSPC), says("the run folder")},
	} {
		err := DiskFull(test.err)
		if err.Error() != test.want {
			t.Errorf("%v: says %q, want %q", test.err, err, test.want)
		}
		if !errors.Is(err, test.err) {
			t.Errorf("%v is no longer wrapped", test.err)
		}
	}
	for _, err := range []error{nil, errors.New("full of trouble"),
		&fs.PathError{Op: "write", Path: "/x", Err: syscall.EIO}} {
		if got := DiskFull(err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
	if err := DiskFull(DiskFullSay(DiskFull(write), "run again")); err.Error() != "the disk that holds /x/step-3.tmp is full: free space and run again" {
		t.Errorf("another program says %q", err)
	}
	// What the system itself says of a device without space.
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("no device without space: %v", err)
	}
	defer full.Close()
	if _, err := full.WriteString("x"); DiskFull(err) == nil || DiskFull(err).Error() != says("/dev/full") {
		t.Errorf("writing to /dev/full gave %v", err)
	}
}
