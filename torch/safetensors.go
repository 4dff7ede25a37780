package torch

// #include "api.h"
import "C"

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"unsafe"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/internal/safetensors"
)

type safetensorsType struct {
	dtype DType
	name  string
	size  int64 // bytes of an element
}

// The types that are read and written, in the order in which the reference implementation lays tensors out: the largest
// elements come first, so that every tensor starts at a multiple of its element's size, which readers rely on.
var safetensorsTypes = []safetensorsType{
	{Int64, "I64", 8}, {Float64, "F64", 8}, {Float32, "F32", 4}, {BFloat16, "BF16", 2}, {Float16, "F16", 2},
	{Bool, "BOOL", 1},
}

// typeNamed is a type by its name in the format, of size 0 where it is not read.
func typeNamed(name string) (found safetensorsType) {
	for _, t := range safetensorsTypes {
		if t.name == name {
			found = t
		}
	}
	return found
}

// WriteSafetensors writes tensors by name, ordered by type and then by name.
func WriteSafetensors(w io.Writer, tensors map[string]Tensor, metadata map[string]string) error {
	rank := make(map[string]int, len(tensors)) // where a tensor's type stands in safetensorsTypes
	names := make([]string, 0, len(tensors))
	for name, x := range tensors {
		rank[name] = slices.IndexFunc(safetensorsTypes, func(t safetensorsType) bool { return t.dtype == x.DType() })
		if rank[name] < 0 {
			return fmt.Errorf("safetensors: %s has type %v, which is not written", name, x.DType())
		}
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(rank[a], rank[b]), cmp.Compare(a, b)) })
	entries := make([]safetensors.Entry, len(names))
	for i, name := range names {
		x, t := tensors[name], safetensorsTypes[rank[name]]
		entries[i] = safetensors.Entry{Name: name, DType: t.name, Shape: x.Shape(), Bytes: x.Count() * t.size}
	}
	if err := safetensors.WriteHeader(w, entries, metadata); err != nil {
		return err
	}
	for _, name := range names {
		if _, err := w.Write(tensors[name].bytes(safetensorsTypes[rank[name]].size)); err != nil {
			return err
		}
	}
	return nil
}

// bytes copies the elements out as they lie in memory, in row-major order.
func (x Tensor) bytes(size int64) []byte {
	out := make([]byte, x.Count()*size)
	check("copy to Go", C.ap_copy_out(x.c("copy to Go"), C.int(x.DType()), unsafe.Pointer(unsafe.SliceData(out)),
		C.int64_t(x.Count())), x)
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
	var tensors map[string]Tensor
	var metadata map[string]string
	err = Try(func() error {
		r := bufio.NewReaderSize(f, 1<<20)
		entries, m, content, err := safetensors.ReadHeader(r, info.Size())
		if err != nil {
			return fmt.Errorf("%s is no valid safetensors file: %w", path, err)
		}
		metadata = m
		if tensors, err = readSafetensorsContent(r, entries, content, d); err != nil {
			return fmt.Errorf("%s is no valid safetensors file: %w", path, err)
		}
		return nil
	})
	if err != nil {
		if e, ok := err.(*Error); ok { // no memory, or no scope
			return nil, nil, fmt.Errorf("reading %s: %w", path, e)
		}
		return nil, nil, files.Plain(err)
	}
	return tensors, metadata, nil
}

// DecodeSafetensors reads the tensors of what WriteSafetensors wrote.
func DecodeSafetensors(data []byte, d Device) (map[string]Tensor, error) {
	r := bytes.NewReader(data)
	entries, _, content, err := safetensors.ReadHeader(r, int64(len(data)))
	if err != nil {
		return nil, err
	}
	return readSafetensorsContent(r, entries, content, d)
}

func readSafetensorsContent(r io.Reader, entries map[string]safetensors.JSON, content int64,
	d Device) (map[string]Tensor, error) {
	names, err := safetensors.Lay(entries, content, func(dtype string) int64 { return typeNamed(dtype).size })
	if err != nil {
		return nil, err
	}
	tensors := make(map[string]Tensor, len(names))
	for _, name := range names {
		e := entries[name]
		t := typeNamed(e.DType)
		data := make([]byte, e.Offsets[1]-e.Offsets[0])
		if _, err := io.ReadFull(r, data); err != nil {
			return nil, fmt.Errorf("%s is cut: %w", name, err)
		}
		if t.dtype == Bool && slices.ContainsFunc(data, func(b byte) bool { return b > 1 }) {
			return nil, fmt.Errorf("%s is boolean and has a byte that is neither 0 nor 1", name)
		}
		tensors[name] = fromData("ReadSafetensors", unsafe.Pointer(unsafe.SliceData(data)), len(data)/int(t.size),
			t.dtype, d, e.Shape)
	}
	return tensors, nil
}
