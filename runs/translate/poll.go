package main

import (
	"io"
	"os"
	"syscall"
	"unsafe"
)

// moreIsReady reports whether a read would return at once. For what is not a file it is taken to wait.
func moreIsReady(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return false
	}
	poll := struct {
		fd              int32
		events, revents int16
	}{int32(f.Fd()), 1 /* POLLIN */, 0}
	n, _, _ := syscall.Syscall(syscall.SYS_POLL, uintptr(unsafe.Pointer(&poll)), 1, 0)
	return int(n) == 1
}
