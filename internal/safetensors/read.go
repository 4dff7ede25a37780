package safetensors

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

const maxHeader = 100 << 20 // the limit of the reference implementation

// ReadHeader reads a header, of a file of that size. It also returns the number of bytes that follow.
func ReadHeader(r io.Reader, fileSize int64) (entries map[string]JSON,
	metadata map[string]string, content int64, err error) {
	broken := func(format string, args ...any) (map[string]JSON, map[string]string, int64, error) {
		return nil, nil, 0, fmt.Errorf(format, args...)
	}
	var length uint64
	if err := binary.Read(r, binary.LittleEndian, &length); err != nil {
		return broken("it has no header")
	}
	if length > maxHeader || int64(length) > fileSize-8 {
		return broken("its header is said to be %d bytes long, the file has %d", length, fileSize)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return broken("its header is cut")
	}
	if len(text) == 0 || text[0] != '{' {
		return broken("its header is no JSON object")
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return broken("its header is not JSON: %v", err)
	}
	metadata = map[string]string{}
	if m, found := raw[Metadata]; found {
		if err := json.Unmarshal(m, &metadata); err != nil {
			return broken("its metadata are not strings")
		}
		delete(raw, Metadata)
	}
	entries = make(map[string]JSON, len(raw))
	for name, m := range raw {
		var e JSON
		if err := json.Unmarshal(m, &e); err != nil || e.Shape == nil || len(e.Offsets) != 2 {
			return broken("the entry of %s is malformed", name)
		}
		entries[name] = e
	}
	return entries, metadata, fileSize - 8 - int64(length), nil
}

// Lay gives the names in the order in which their tensors lie in the content, which they must fill without a gap. size
// is that of an element by type, 0 for a type that is not read.
func Lay(entries map[string]JSON, content int64, size func(dtype string) int64) (names []string, err error) {
	for name := range entries {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(slices.Compare(entries[a].Offsets, entries[b].Offsets), cmp.Compare(a, b))
	})
	offset := int64(0)
	for _, name := range names {
		e := entries[name]
		number := size(e.DType)
		if number == 0 {
			return nil, fmt.Errorf("%s has the type %q, which is not read", name, e.DType)
		}
		n := Length(e.Shape, number, content)
		if n < 0 {
			return nil, fmt.Errorf("%s of shape %v does not fit the file", name, e.Shape)
		}
		if e.Offsets[0] != offset || e.Offsets[1]-e.Offsets[0] != n || e.Offsets[1] > content {
			return nil, fmt.Errorf("%s lies at bytes %v of %d, which does not fit its shape %v or its neighbours", name,
				e.Offsets, content, e.Shape)
		}
		offset += n
	}
	if offset != content {
		return nil, fmt.Errorf("%d bytes follow its last tensor", content-offset)
	}
	return names, nil
}

// Length is the number of bytes of a tensor whose numbers have a size in bytes, -1 where it would be above most or a side
// is below 0. A tensor with a side of 0 has none, whatever its other sides are.
func Length(shape []int64, size, most int64) int64 {
	empty := slices.Contains(shape, 0)
	for _, side := range shape {
		if side < 0 || !empty && size > most/side {
			return -1
		}
		size *= side
	}
	return size
}
