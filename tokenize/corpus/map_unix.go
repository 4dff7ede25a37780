//go:build unix

package corpus

import (
	"os"
	"syscall"
)

// nonBlocking opens a pipe without waiting for its writer.
const nonBlocking = syscall.O_NONBLOCK

// mapFile maps the first bytes of a file into memory, to be read.
func mapFile(file *os.File, size int) ([]byte, error) {
	return syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
}

// unmapFile gives mapped memory back; nil is none.
func unmapFile(mapped []byte) {
	if mapped != nil {
		syscall.Munmap(mapped)
	}
}
