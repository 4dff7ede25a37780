package corpus

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// identity tells whether a file is still the same: a change moves its status time, which no program can set.
type identity struct {
	Device, Inode    uint64
	Size             int64
	Modified, Status int64 // times in ns of the last change of content, and of content or name (0: unknown)
}

func identify(f *os.File) (identity, error) {
	info, err := f.Stat()
	if err != nil {
		return identity{}, err
	}
	now := identity{Size: info.Size(), Modified: info.ModTime().UnixNano()}
	now.Device, now.Inode, now.Status = status(info)
	return now, nil
}

// counted is what a cache remembers of a text file while its identity stays, under a key of its path and the edition.
type counted struct {
	File   identity
	SHA256 string
	Lines  int
}

// settled is the age of a last change from which an identity is trusted: a second change within a tick of the clock
// shows nowhere.
const settled = 2 * time.Second

// OpenParallel is ReadParallel for text that stays in its files: it reads them once, to count and check lines, or not
// at all if the cache knows them.
func (c *Cache) OpenParallel(n PairName, flag string) (Parallel, error) {
	source, target := n.places()
	return parallel(source, target, flag, c.openText)
}

func (c *Cache) openText(at place, flag string) (Text, error) {
	in, err := openLines(at, flag)
	if err != nil {
		return Text{}, err
	}
	defer in.Close()
	purpose := fmt.Sprintf("text file, %d bytes a line", at.Limit())
	if at.isPart() {
		purpose += fmt.Sprintf(", column %d of each line of %+v", at.column, at.portion)
	}
	known, err := c.counted(purpose, in.file.File, func() (string, int, error) {
		for in.next() {
		}
		sum, err := in.end()
		return sum, in.count, err
	})
	return Text{Path: in.path, SHA256: known.SHA256, place: at, count: known.Lines, file: known.File}, err
}

// SumRunning is the SHA-256, in hexadecimal, of running text, unpacked. A file that the cache knows is not read; the
// flag is ReadRunning's.
func (c *Cache) SumRunning(s LineSettings, path, flag string) (string, error) {
	text, err := c.openText(s.running(path), flag)
	return text.SHA256, err
}

// counted gives what the cache remembers of an open file for a purpose, or counts and remembers it.
func (c *Cache) counted(
	purpose string, file *os.File, count func() (sum string, lines int, err error),
) (counted, error) {
	now, err := identify(file)
	if err != nil {
		return counted{}, err
	}
	full, err := filepath.Abs(file.Name())
	if err != nil {
		return counted{}, err
	}
	key := NewKey(purpose, full)
	var known counted
	note, found := c.get(key, ".sum")
	if found && now.Status != 0 && json.Unmarshal(note, &known) == nil && known.File == now {
		return known, nil
	}
	begin := time.Now()
	known = counted{File: now}
	if known.SHA256, known.Lines, err = count(); err != nil {
		return counted{}, err
	}
	if after, err := identify(file); err != nil || after != now {
		return counted{}, Text{Path: file.Name()}.changed()
	}
	if now.Status != 0 && begin.Sub(time.Unix(0, now.Status)) > settled {
		if note, err := json.Marshal(known); err == nil {
			_ = c.put(key, ".sum", note) // without it the file is read again
		}
	}
	return known, nil
}
