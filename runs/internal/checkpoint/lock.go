package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// lockName is the file in the run folder that carries the lock.
const lockName = ".lock"

// ErrLocked is underneath the error of Acquire where another process works in the run folder.
var ErrLocked = errors.New("is in use")

// Lock is a run folder's lock. The system frees it when the process ends, however it ends.
type Lock struct{ file *os.File }

// Acquire takes the lock of a run folder, which must exist, without waiting. While
// another process holds it, the error is ErrLocked and names that process.
func Acquire(runFolder string) (*Lock, error) {
	path := filepath.Join(runFolder, lockName)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("the run folder %s cannot be locked: %w", runFolder, cause(err))
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder, _ := os.ReadFile(path)
		file.Close()
		by := "another process"
		if pid := strings.TrimSpace(string(holder)); pid != "" {
			by = "process " + pid
		}
		return nil, fmt.Errorf("the run folder %s %w by %s: wait for it to end, or name another folder with -out", runFolder, ErrLocked, by)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("the run folder %s cannot be locked: %w", runFolder, err)
	}
	// The holder's number is for the sentence above only, so that a full disk does not matter here.
	if file.Truncate(0) == nil {
		file.WriteString(strconv.Itoa(os.Getpid()) + "\n")
	}
	return &Lock{file}, nil
}

// Release frees the lock. The file stays: removing it would let two processes hold locks on two files of one name.
func (l *Lock) Release() error { return l.file.Close() }
