//go:build !unix

package corpus

import "os"

const nonBlocking = 0

// mapFile reads the first bytes of a file, where package syscall maps none.
func mapFile(file *os.File, size int) ([]byte, error) {
	content := make([]byte, size)
	return content, readAt(file, content, 0)
}

func unmapFile([]byte) {}
