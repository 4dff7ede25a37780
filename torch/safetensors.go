package torch

// #include "api.h"
import "C"

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sort"
	"unsafe"
)

// The safetensors format: eight bytes with the length of a JSON header, the
// header, then the elements of all tensors, little-endian and row-major. The
// header maps a name to {"dtype", "shape", "data_offsets"}; "__metadata__" maps
// strings to strings.

type safetensorsEntry struct {
	DType   string   `json:"dtype"`
	Shape   []int64  `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

var safetensorsTypes = map[DType]string{Float32: "F32", Float64: "F64", BFloat16: "BF16", Int64: "I64", Bool: "BOOL"}

var elementSize = map[DType]int64{Float32: 4, Float64: 8, BFloat16: 2, Int64: 8, Bool: 1}

const maxSafetensorsHeader = 100 << 20 // the limit of the reference implementation

// WriteSafetensors writes tensors by name, in the order of their names.
func WriteSafetensors(w io.Writer, tensors map[string]Tensor, metadata map[string]string) error {
	names := make([]string, 0, len(tensors))
	for name := range tensors {
		names = append(names, name)
	}
	sort.Strings(names)
	header := map[string]any{}
	if len(metadata) > 0 {
		header["__metadata__"] = metadata
	}
	offset := int64(0)
	for _, name := range names {
		x := tensors[name]
		dtype, known := safetensorsTypes[x.DType()]
		if !known {
			return fmt.Errorf("safetensors: %s has type %v, which is not written", name, x.DType())
		}
		size := x.Count() * elementSize[x.DType()]
		header[name] = safetensorsEntry{dtype, x.Shape(), [2]int64{offset, offset + size}}
		offset += size
	}
	text, err := json.Marshal(header)
	if err != nil {
		return err
	}
	for len(text)%8 != 0 { // so that the elements are aligned
		text = append(text, ' ')
	}
	if err := binary.Write(w, binary.LittleEndian, uint64(len(text))); err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	for _, name := range names {
		if _, err := w.Write(tensors[name].bytes()); err != nil {
			return err
		}
	}
	return nil
}

// bytes copies the elements out as they lie in memory, in row-major order.
func (x Tensor) bytes() []byte {
	out := make([]byte, x.Count()*elementSize[x.DType()])
	check("copy to Go", C.ap_copy_out(x.c("copy to Go"), C.int(x.DType()), unsafe.Pointer(unsafe.SliceData(out)), C.int64_t(x.Count())), x)
	return out
}

// ReadSafetensors reads all tensors of a file, and its metadata. A file that is
// cut, or whose header does not fit its content, gives an error that names it.
func ReadSafetensors(path string, d Device) (map[string]Tensor, map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	broken := func(format string, args ...any) (map[string]Tensor, map[string]string, error) {
		return nil, nil, fmt.Errorf("%s is no valid safetensors file: %s", path, fmt.Sprintf(format, args...))
	}
	r := bufio.NewReaderSize(f, 1<<20)
	var length uint64
	if err := binary.Read(r, binary.LittleEndian, &length); err != nil {
		return broken("it has no header")
	}
	if length > maxSafetensorsHeader || int64(length) > info.Size()-8 {
		return broken("its header is said to be %d bytes long, the file has %d", length, info.Size())
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return broken("its header is cut")
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return broken("its header is not JSON: %v", err)
	}
	metadata := map[string]string{}
	if m, found := raw["__metadata__"]; found {
		if err := json.Unmarshal(m, &metadata); err != nil {
			return broken("its metadata are not strings")
		}
		delete(raw, "__metadata__")
	}
	entries := make(map[string]safetensorsEntry, len(raw))
	names := make([]string, 0, len(raw))
	for name, m := range raw {
		var e safetensorsEntry
		if err := json.Unmarshal(m, &e); err != nil {
			return broken("the entry of %s is malformed", name)
		}
		entries[name] = e
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		a, b := entries[names[i]].Offsets, entries[names[j]].Offsets
		return a[0] < b[0] || a[0] == b[0] && (a[1] < b[1] || a[1] == b[1] && names[i] < names[j])
	})
	tensors := make(map[string]Tensor, len(names))
	offset := int64(0)
	content := info.Size() - 8 - int64(length)
	for _, name := range names {
		e := entries[name]
		dtype, known := typeNamed(e.DType)
		if !known {
			return broken("%s has the unknown type %s", name, e.DType)
		}
		size := elementSize[dtype]
		for _, s := range e.Shape {
			if s < 0 || s > 0 && size > content/s {
				return broken("%s of shape %v does not fit the file", name, e.Shape)
			}
			size *= s
		}
		if e.Offsets[0] != offset || e.Offsets[1]-e.Offsets[0] != size || e.Offsets[1] > content {
			return broken("%s lies at bytes %v of %d, which does not fit its shape %v or its neighbours", name, e.Offsets, content, e.Shape)
		}
		data := make([]byte, size)
		if _, err := io.ReadFull(r, data); err != nil {
			return broken("%s is cut: %v", name, err)
		}
		offset += size
		count := size / elementSize[dtype]
		tensors[name] = fromData("ReadSafetensors", unsafe.Pointer(unsafe.SliceData(data)), int(count), dtype, d, e.Shape)
	}
	if offset != content {
		return broken("%d bytes follow its last tensor", content-offset)
	}
	return tensors, metadata, nil
}

func typeNamed(name string) (DType, bool) {
	for dtype, n := range safetensorsTypes {
		if n == name {
			return dtype, true
		}
	}
	return 0, false
}
