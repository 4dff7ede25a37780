package corpus

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"
	"sync"
	"unsafe"
)

// Store is encoded parallel text: pairs of ids of 16 or 32 bits, mapped from a file of a Cache, or on the heap. Any
// number of goroutines may read it.
//
// The file, in the machine's byte order: header; an entry for each pair; the ids, a pair's source before its target; a
// CRC-32C of each segment of entries and ids. The header is written last.
type Store struct {
	entries []entry
	narrow  []uint16 // ids, where all fit into 16 bits
	wide    []int32  // ids otherwise
	largest int32    // that an id may be
	file    *os.File // nil on the heap
	mapped  []byte   // nil on the heap
}

// entry says where a pair stands.
type entry struct {
	At             uint64 // in ids
	Source, Target uint32 // lengths
}

type header struct {
	Magic      [16]byte
	Key        Key
	Width      uint64 // bytes of an id
	Pairs, IDs uint64
	Sums       uint32 // of the sums
	Header     uint32 // of the header before this
}

var magic = [16]byte([]byte("aperture pairs 1"))

const (
	headerBytes  = int64(unsafe.Sizeof(header{}))
	entryBytes   = int64(unsafe.Sizeof(entry{}))
	segmentBytes = 16 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Len counts the pairs.
func (s *Store) Len() int { return len(s.entries) }

// Lengths are those of both sides of pair i.
func (s *Store) Lengths(i int) (source, target int) {
	return int(s.entries[i].Source), int(s.entries[i].Target)
}

// At is pair i in ids of its own; its line is i+1.
func (s *Store) At(i int) Pair {
	e := s.entries[i]
	n := uint64(e.Source) + uint64(e.Target)
	held := uint64(max(len(s.narrow), len(s.wide)))
	if e.At > held || n > held-e.At { // it was right when the file was opened
		panic(s.changed())
	}
	ids := make([]int32, n)
	largest := uint32(0)
	if s.narrow != nil {
		for k, id := range s.narrow[e.At : e.At+n] {
			ids[k] = int32(id)
			largest = max(largest, uint32(id))
		}
	} else {
		for k, id := range s.wide[e.At : e.At+n] {
			ids[k] = id
			largest = max(largest, uint32(id))
		}
	}
	if largest > uint32(s.largest) {
		panic(&unusable{fmt.Errorf("%s: pair %d has the id %d, and ids end at %d: delete this file, which is then "+
			"made anew", s.file.Name(), i+1, int32(largest), s.largest)})
	}
	return Pair{Source: ids[:e.Source:e.Source], Target: ids[e.Source:], Line: i + 1}
}

// Each visits the pairs in order, until visit fails. A file cut short or changed meanwhile is an error.
func (s *Store) Each(visit func(Pair) error) error {
	return reading(s, func() error {
		for i := range s.entries {
			if err := visit(s.At(i)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Close gives the mapped memory back; the store must not be used any more.
func (s *Store) Close() {
	if s == nil || s.mapped == nil {
		return
	}
	unmapFile(s.mapped)
	s.file.Close()
	*s = Store{}
}

// OpenStore maps a file that a Cache keeps, whatever text it was made from, after checking it.
func OpenStore(path string) (*Store, error) {
	s, err := openStore(path, nil)
	if err == errDamaged {
		return nil, fmt.Errorf("%s: this is no file of encoded text, or it is damaged: give another one, or delete "+
			"it to have it made anew", path)
	}
	return s, err
}

// wanted is what a store must be.
type wanted struct {
	key          Key
	pairs, width int64
	largest      int32 // id
}

// openStore maps a file after checking it, against what is wanted where that is not nil.
func openStore(path string, w *wanted) (*Store, error) {
	file, size, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	s := &Store{file: file, largest: math.MaxInt32}
	if w != nil {
		s.largest = w.largest
	}
	if err := s.open(size, w); err != nil {
		unmapFile(s.mapped)
		file.Close()
		if errors.Is(err, io.ErrUnexpectedEOF) { // it is being cut short
			err = errDamaged
		}
		return nil, err
	}
	return s, nil
}

var errDamaged = errors.New("the stored ids are damaged")

// open checks the file, maps it, and checks what is mapped: every size against the file's before it is used.
func (s *Store) open(size int64, w *wanted) (err error) {
	var h header
	text := make([]byte, headerBytes)
	if size < headerBytes {
		return errDamaged
	}
	if err := readAt(s.file, text, 0); err != nil {
		return err
	}
	if _, err := binary.Decode(text, binary.NativeEndian, &h); err != nil {
		return err
	}
	if h.Magic != magic || h.Header != crc32.Checksum(text[:headerBytes-4], castagnoli) ||
		w != nil && (h.Key != w.key || h.Pairs != uint64(w.pairs) || h.Width != uint64(w.width)) {
		return errDamaged
	}
	room := uint64(size - headerBytes)
	if h.Width != 2 && h.Width != 4 || h.Pairs > room/uint64(entryBytes) || h.IDs > room/h.Width {
		return errDamaged // beyond these no product overflows
	}
	body := int64(h.Pairs)*entryBytes + int64(h.IDs*h.Width)
	if size != headerBytes+body+4*segments(body) {
		return errDamaged
	}
	sums := make([]byte, 4*segments(body))
	if err := readAt(s.file, sums, headerBytes+body); err != nil {
		return err
	}
	if h.Sums != crc32.Checksum(sums, castagnoli) {
		return errDamaged
	}
	if found, err := segmentSums(s.file, body); err != nil || !bytes.Equal(sums, found) {
		return cmp.Or(err, errDamaged)
	}
	if s.mapped, err = mapFile(s.file, int(size)); err != nil {
		return &fs.PathError{Op: "mmap", Path: s.file.Name(), Err: err}
	}
	s.entries = cast[entry](s.mapped[headerBytes:], h.Pairs)
	ids := s.mapped[headerBytes+int64(h.Pairs)*entryBytes:]
	if h.Width == 2 {
		s.narrow = cast[uint16](ids, h.IDs)
	} else {
		s.wide = cast[int32](ids, h.IDs)
	}
	return reading(s, func() error { return s.checkEntries(h.IDs) })
}

// checkEntries checks that each pair begins where the one before it ends, and the last one ends with the ids.
func (s *Store) checkEntries(ids uint64) error {
	next := uint64(0)
	for _, e := range s.entries {
		n := uint64(e.Source) + uint64(e.Target)
		if e.At != next || n > ids-next {
			return errDamaged
		}
		next += n
	}
	if next != ids {
		return errDamaged
	}
	return nil
}

// cast sees bytes as n values. Entries lie at multiples of 8 bytes behind the start of a page, and ids behind them.
func cast[T any](data []byte, n uint64) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), n)
}

// raw sees values as their bytes.
func raw[T any](values []T) []byte {
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*int(unsafe.Sizeof(one)))
}

// segments counts those of the given number of bytes.
func segments(body int64) int64 { return (body + segmentBytes - 1) / segmentBytes }

// segmentSums are the sums of the segments behind the header of a file, on all processors.
func segmentSums(file *os.File, body int64) ([]byte, error) {
	n := segments(body)
	sums := make([]byte, 4*n)
	each := min(n, int64(runtime.GOMAXPROCS(0)))
	failures := make([]error, each)
	var workers sync.WaitGroup
	for first := range each {
		workers.Go(func() {
			part := make([]byte, 256<<10) // stays in the processor's cache
			for k := first; k < n && failures[first] == nil; k += each {
				var sum uint32
				at, end := k*segmentBytes, min((k+1)*segmentBytes, body)
				for ; at < end && failures[first] == nil; at += int64(len(part)) {
					piece := part[:min(int64(len(part)), end-at)]
					failures[first] = readAt(file, piece, headerBytes+at)
					sum = crc32.Update(sum, castagnoli, piece)
				}
				binary.NativeEndian.PutUint32(sums[4*k:], sum)
			}
		})
	}
	workers.Wait()
	return sums, errors.Join(failures...)
}

// openRegular opens a file that has a size: it does not wait for the writer of a pipe.
func openRegular(path string) (file *os.File, size int64, err error) {
	file, err = os.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errDamaged
	}
	if err != nil {
		file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}

// readAt fills data from a place of a file.
func readAt(file *os.File, data []byte, at int64) error {
	_, err := file.ReadAt(data, at)
	if err == io.EOF {
		return &fs.PathError{Op: "read", Path: file.Name(), Err: io.ErrUnexpectedEOF}
	}
	return err
}

// describe says how large the store is.
func (s *Store) describe() string {
	width := 16
	if s.narrow == nil {
		width = 32
	}
	size := int64(len(s.entries))*entryBytes + int64(len(s.narrow))*2 + int64(len(s.wide))*4
	return fmt.Sprintf("%d pairs in %.1f MB, ids of %d bits", len(s.entries), float64(size)/1e6, width)
}
