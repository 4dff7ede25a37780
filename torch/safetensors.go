package torch

// #include "api.h"
import "C"

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
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
// The tensors belong to the innermost scope.
func ReadSafetensors(path string, d Device) (tensors map[string]Tensor, metadata map[string]string, err error) {
	err = openSafetensors(path, func(c *safetensorsContent) (err error) {
		metadata = c.metadata
		tensors, err = c.read(d)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return tensors, metadata, nil
}

// LoadSafetensors is Load for the tensors of a file. It reads a few megabytes at a time, and nothing where a name or a
// shape does not fit.
func (p *Params) LoadSafetensors(path string) error {
	return openSafetensors(path, func(c *safetensorsContent) error {
		if err := p.fit(c.shapes()); err != nil {
			return err
		}
		for _, name := range c.names {
			if err := c.fill(name, p.byName[name]); err != nil {
				return err
			}
		}
		return nil
	})
}

// ParamsOf gives an empty list for the parameters of a file. [Params.Add] refuses the first that the file does not hold in
// its shape: a network that does not fit the file is not built to its end.
func ParamsOf(path string) (*Params, error) {
	p := &Params{file: path}
	err := openSafetensors(path, func(c *safetensorsContent) error {
		p.held = c.shapes()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// DecodeSafetensors reads the tensors of what WriteSafetensors wrote.
func DecodeSafetensors(data []byte, d Device) (map[string]Tensor, error) {
	c, err := newSafetensorsContent(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	return c.read(d)
}

// openSafetensors hands on the content of a file; errors name the file.
func openSafetensors(path string, use func(c *safetensorsContent) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	err = Try(func() error {
		c, err := newSafetensorsContent(bufio.NewReaderSize(f, 1<<20), info.Size())
		if err == nil {
			err = use(c)
		}
		if misfit := (*misfitError)(nil); err != nil && !errors.As(err, &misfit) {
			return fmt.Errorf("%s is no valid safetensors file: %w", path, err)
		} else if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	})
	if e, ok := err.(*Error); ok { // no memory, or no scope
		return fmt.Errorf("reading %s: %w", path, e)
	}
	return files.Plain(err)
}

// safetensorsContent is what follows the header of a file, whose tensors are read in the order of names.
type safetensorsContent struct {
	r        io.Reader
	names    []string
	entries  map[string]safetensors.JSON
	metadata map[string]string
	chunk    []byte
}

func (c *safetensorsContent) shapes() map[string][]int64 {
	shapes := make(map[string][]int64, len(c.names))
	for _, name := range c.names {
		shapes[name] = c.entries[name].Shape
	}
	return shapes
}

// safetensorsChunk is how many bytes are read at once, where a row has fewer.
const safetensorsChunk = 4 << 20

func newSafetensorsContent(r io.Reader, size int64) (*safetensorsContent, error) {
	entries, metadata, content, err := safetensors.ReadHeader(r, size)
	if err != nil {
		return nil, err
	}
	names, err := safetensors.Lay(entries, content, func(dtype string) int64 { return typeNamed(dtype).size })
	return &safetensorsContent{r: r, names: names, entries: entries, metadata: metadata}, err
}

func (c *safetensorsContent) read(d Device) (map[string]Tensor, error) {
	tensors := make(map[string]Tensor, len(c.names))
	for _, name := range c.names {
		e := c.entries[name]
		tensors[name] = full("ReadSafetensors", 0, typeNamed(e.DType).dtype, d, e.Shape)
		if err := c.fill(name, tensors[name]); err != nil {
			return nil, err
		}
	}
	return tensors, nil
}

// fill reads the tensor of that name, the next of the content, into x of its shape, some rows at a time.
func (c *safetensorsContent) fill(name string, x Tensor) error {
	scope := OpenScope()
	defer scope.Close()
	e := c.entries[name]
	if len(e.Shape) == 0 {
		x = x.Reshape(1)
	}
	rows, t := x.Size(0), typeNamed(e.DType)
	if x.Count() == 0 {
		return nil
	}
	row := x.Count() / rows
	step := max(1, safetensorsChunk/(row*t.size))
	for at := int64(0); at < rows; at += step {
		n := min(step, rows-at)
		c.chunk = slices.Grow(c.chunk[:0], int(n*row*t.size))[:n*row*t.size]
		if _, err := io.ReadFull(c.r, c.chunk); err != nil {
			return fmt.Errorf("%s is cut: %w", name, err)
		}
		if t.dtype == Bool && slices.ContainsFunc(c.chunk, func(b byte) bool { return b > 1 }) {
			return fmt.Errorf("%s is boolean and has a byte that is neither 0 nor 1", name)
		}
		x.Narrow(0, at, n).copyIn("ReadSafetensors", t.dtype, unsafe.Pointer(unsafe.SliceData(c.chunk)), n*row)
	}
	return nil
}
