package corpus

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/aperture-ml/aperture/internal/files"
)

// Encoder appends the ids of a line, without the end of sentence.
type Encoder func(ids []int32, line string) []int32

// Encoding is how parallel text becomes a store.
type Encoding struct {
	Key  Key // of the text and all else that the ids depend on
	Text Parallel
	// Largest is the largest id that there can be.
	Largest int32
	// Encoders makes those of one goroutine.
	Encoders func() (source, target Encoder, err error)
}

// Encode opens the store of the encoding's key, or encodes the text on all processors and keeps it. said tells the user
// where the ids are: if they cannot be kept, in memory, and why.
func (c *Cache) Encode(e Encoding) (s *Store, said string, err error) {
	what := e.contents()
	path := c.path(e.Key, ".pairs")
	problem := c.problem
	if problem == nil {
		if s, err = openStore(path, &what.wanted); err == nil {
			return s, fmt.Sprintf("encoded text: %s, from %s", s.describe(), path), nil
		}
		problem = c.writable()
	}
	begin := time.Now()
	if problem == nil {
		var unwritten *fs.PathError // other errors are the text's
		if err = c.write(path, what); err == nil {
			s, err = openStore(path, &what.wanted)
		} else if !errors.As(err, &unwritten) {
			return nil, "", err
		}
		if err == nil {
			return s, fmt.Sprintf("encoded text: %s, made in %.1f s and kept for other runs in %s", s.describe(),
				time.Since(begin).Seconds(), path), nil
		}
		problem = files.DiskFull(err)
	}
	if s, err = what.inMemory(); err != nil {
		return nil, "", err
	}
	if problem == ErrSwitchedOff {
		return s, fmt.Sprintf("encoded text: %s, in memory", s.describe()), nil
	}
	return s, fmt.Sprintf("encoded text: %s, in memory, and made anew by each start, since it cannot be kept: %v; "+
		"data.store names another folder", s.describe(), problem), nil
}

// PutTexts keeps the ids of texts under a key, as pairs without targets.
func (c *Cache) PutTexts(key Key, texts [][]int32) error {
	if err := c.writable(); err != nil {
		return err
	}
	each := func(take func(encodedBlock) error) (total uint64, err error) {
		for _, ids := range texts {
			if err := take(encodedBlock{[]entry{{total, uint32(len(ids)), 0}}, raw(ids)}); err != nil {
				return 0, err
			}
			total += uint64(len(ids))
		}
		return total, nil
	}
	return c.write(c.path(key, ".pairs"), contents{wanted{key, int64(len(texts)), 4, math.MaxInt32}, each})
}

// GetTexts reads the n texts that PutTexts kept under a key; false if none are whole or an id exceeds the largest.
func (c *Cache) GetTexts(key Key, n int, largest int32) (texts [][]int32, found bool) {
	if c.problem != nil {
		return nil, false
	}
	s, err := openStore(c.path(key, ".pairs"), &wanted{key, int64(n), 4, largest})
	if err != nil {
		return nil, false
	}
	defer s.Close()
	err = s.Each(func(p Pair) error {
		texts = append(texts, p.Source)
		return nil
	})
	return texts, err == nil
}

// contents are what a store holds, given block by block.
type contents struct {
	wanted
	each func(take func(encodedBlock) error) (ids uint64, err error)
}

// write makes the file of a store, under a temporary name until it is whole and synced.
func (c *Cache) write(path string, e contents) (err error) {
	removeAbandoned(c.folder)
	file, err := files.CreateTemp(c.folder, "*"+unfinished)
	if err != nil {
		return err
	}
	defer func() {
		file.Close()
		if err != nil {
			os.Remove(file.Name())
		}
	}()
	if err := files.LockFile(file, true); err != nil {
		return &fs.PathError{Op: "lock", Path: file.Name(), Err: err}
	}
	if err := e.write(file); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return &fs.PathError{Op: "rename", Path: path, Err: err}
	}
	return files.SyncFolder(c.folder)
}

// unfinished ends the names of files that are being written. Their writers hold their locks.
const unfinished = ".unfinished"

// removeAbandoned deletes what writers that were killed have left.
func removeAbandoned(folder string) {
	names, _ := fs.Glob(os.DirFS(folder), "*"+unfinished) // the folder's name is no pattern
	for _, name := range names {
		name = filepath.Join(folder, name)
		file, err := os.Open(name)
		if err != nil {
			continue
		}
		// A file of this minute may be waiting for its lock; one of a later one is of a clock that was set back.
		info, err := file.Stat()
		if err == nil && time.Since(info.ModTime()).Abs() > time.Minute && files.LockFile(file, false) == nil {
			os.Remove(name)
		}
		file.Close()
	}
}

// write writes entries and ids side by side, then their sums, and the header last.
func (e contents) write(file *os.File) error {
	entries := bufio.NewWriterSize(io.NewOffsetWriter(file, headerBytes), 1<<20)
	ids := bufio.NewWriterSize(io.NewOffsetWriter(file, headerBytes+e.pairs*entryBytes), 1<<20)
	total, err := e.each(func(b encodedBlock) error {
		if _, err := entries.Write(raw(b.entries)); err != nil {
			return err
		}
		_, err := ids.Write(b.ids)
		return err
	})
	if err = errors.Join(err, entries.Flush(), ids.Flush()); err != nil {
		return err
	}
	body := e.pairs*entryBytes + int64(total)*e.width
	sums, err := segmentSums(file, body)
	if err != nil {
		return err
	}
	if _, err := file.WriteAt(sums, headerBytes+body); err != nil {
		return err
	}
	h := header{
		Magic: magic, Key: e.key, Width: uint64(e.width), Pairs: uint64(e.pairs), IDs: total,
		Sums: crc32.Checksum(sums, castagnoli),
	}
	text, err := binary.Append(nil, binary.NativeEndian, h)
	if err != nil {
		return err
	}
	binary.NativeEndian.PutUint32(text[headerBytes-4:], crc32.Checksum(text[:headerBytes-4], castagnoli))
	_, err = file.WriteAt(text, 0)
	return err
}

func (e contents) inMemory() (*Store, error) {
	s := &Store{entries: make([]entry, 0, e.pairs), largest: math.MaxInt32}
	if e.width == 2 {
		s.narrow = []uint16{}
	}
	_, err := e.each(func(b encodedBlock) error {
		s.entries = append(s.entries, b.entries...)
		if s.narrow != nil {
			s.narrow = append(s.narrow, cast[uint16](b.ids, uint64(len(b.ids)/2))...)
		} else {
			s.wide = append(s.wide, cast[int32](b.ids, uint64(len(b.ids)/4))...)
		}
		return nil
	})
	return s, err
}

func (e Encoding) contents() contents {
	return contents{wanted{e.Key, int64(e.Text.Source.Len()), e.width(), e.Largest}, e.each}
}

func (e Encoding) width() int64 {
	if e.Largest < 1<<16 {
		return 2
	}
	return 4
}

// encodedBlock is what a worker makes of a block of lines.
type encodedBlock struct {
	entries []entry
	ids     []byte
}

// each encodes the text, block by block, and counts its ids.
func (e Encoding) each(take func(encodedBlock) error) (total uint64, err error) {
	worker := func() (func([][]string) (encodedBlock, error), error) {
		source, target, err := e.Encoders()
		return func(lines [][]string) (encodedBlock, error) { return e.block(lines, source, target), nil }, err
	}
	err = Blocks([]Text{e.Text.Source, e.Text.Target}, worker, func(b encodedBlock) error {
		n := uint64(len(b.ids)) / uint64(e.width())
		for i := range b.entries {
			b.entries[i].At += total
		}
		total += n
		return take(b)
	})
	return total, err
}

// block encodes lines; the entries count from the first of their ids.
func (e Encoding) block(lines [][]string, source, target Encoder) encodedBlock {
	b := encodedBlock{entries: make([]entry, len(lines[0]))}
	var ids []int32
	for i, line := range lines[0] {
		at := len(ids)
		ids = source(ids, line)
		middle := len(ids)
		ids = target(ids, lines[1][i])
		b.entries[i] = entry{uint64(at), uint32(middle - at), uint32(len(ids) - middle)}
	}
	if e.width() == 4 {
		b.ids = raw(ids)
		return b
	}
	narrow := make([]uint16, len(ids))
	for i, id := range ids {
		narrow[i] = uint16(id)
	}
	b.ids = raw(narrow)
	return b
}
