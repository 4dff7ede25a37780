//go:build dragonfly || linux || openbsd || solaris

package corpus

import (
	"io/fs"
	"syscall"
)

// status are the device and inode of a file, and when its content or name last changed, in ns.
func status(info fs.FileInfo) (device, inode uint64, changed int64) {
	s := info.Sys().(*syscall.Stat_t)
	return uint64(s.Dev), uint64(s.Ino), s.Ctim.Nano()
}
