package corpus

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"unsafe"
)

// Store is encoded parallel text: pairs of ids in 16 or 32 bits, mapped into memory from a file that a Cache keeps, or on the heap. It is
// read by any number of goroutines.
//
// The file, in the machine's byte order: header; an entry for each pair; the ids, the source of a pair before its target; a sum
// (CRC-32C) of each segment of entries and ids. The header is written last, and says what must be there.
type Store struct {
	entries []entry
	narrow  []uint16 // ids, where all fit into 16 bits
	wide    []int32  // ids otherwise
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
	var ids []int32
	if s.narrow != nil {
		ids = make([]int32, n)
		for k, id := range s.narrow[e.At : e.At+n] {
			ids[k] = int32(id)
		}
	} else {
		ids = slices.Clone(s.wide[e.At : e.At+n])
	}
	return Pair{Source: ids[:e.Source:e.Source], Target: ids[e.Source:], Line: i + 1}
}

// IDs are those of the source of pair i in a store of 32 bits, not a copy: they must not be written to.
func (s *Store) IDs(i int) []int32 {
	e := s.entries[i]
	return s.wide[e.At : e.At+uint64(e.Source) : e.At+uint64(e.Source)]
}

// Close gives the mapped memory back; the store must not be used any more.
func (s *Store) Close() {
	if s == nil || s.mapped == nil {
		return
	}
	syscall.Munmap(s.mapped)
	*s = Store{}
}

// OpenStore maps a file that a Cache keeps, whatever text it was made from, after checking it by size and by sum.
func OpenStore(path string) (*Store, error) {
	s, err := openStore(path, nil)
	if err == errDamaged {
		return nil, fmt.Errorf("%s: this is no file of encoded text, or it is damaged: give another one, or delete it to have it made anew", path)
	}
	return s, err
}

// openStore maps the file of a key, nil for any, after checking it.
func openStore(path string, key *Key) (*Store, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() < headerBytes {
		return nil, errDamaged
	}
	data, err := syscall.Mmap(int(file.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	s, err := viewStore(data, key)
	if err != nil {
		syscall.Munmap(data)
		return nil, err
	}
	s.mapped = data
	return s, nil
}

var errDamaged = errors.New("the stored ids are damaged")

// viewStore checks the bytes of a file, and sees them as a store.
func viewStore(data []byte, key *Key) (*Store, error) {
	var h header
	if _, err := binary.Decode(data, binary.NativeEndian, &h); err != nil {
		return nil, err
	}
	if h.Magic != magic || key != nil && h.Key != *key || h.Header != crc32.Checksum(data[:headerBytes-4], castagnoli) {
		return nil, errDamaged
	}
	body := int64(h.Pairs)*entryBytes + int64(h.IDs*h.Width)
	segments := (body + segmentBytes - 1) / segmentBytes
	if int64(len(data)) != headerBytes+body+4*segments {
		return nil, errDamaged
	}
	sums := data[headerBytes+body:]
	if h.Sums != crc32.Checksum(sums, castagnoli) || !bytes.Equal(sums, segmentSums(data[headerBytes:headerBytes+body])) {
		return nil, errDamaged
	}
	s := &Store{entries: cast[entry](data[headerBytes:], h.Pairs)}
	ids := data[headerBytes+int64(h.Pairs)*entryBytes:]
	if h.Width == 2 {
		s.narrow = cast[uint16](ids, h.IDs)
	} else {
		s.wide = cast[int32](ids, h.IDs)
	}
	return s, nil
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

// segmentSums are the sums of the segments of data, on all processors.
func segmentSums(data []byte) []byte {
	n := (len(data) + segmentBytes - 1) / segmentBytes
	sums := make([]byte, 4*n)
	var workers sync.WaitGroup
	each := runtime.GOMAXPROCS(0)
	for first := range each {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for k := first; k < n; k += each {
				segment := data[k*segmentBytes : min((k+1)*segmentBytes, len(data))]
				binary.NativeEndian.PutUint32(sums[4*k:], crc32.Checksum(segment, castagnoli))
			}
		}()
	}
	workers.Wait()
	return sums
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
