package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// Metadata is the name in a header that stands for no tensor.
const Metadata = "__metadata__"

// Entry is a tensor of a file. Readers rely on tensors that start at a multiple of their element's size: those with the
// largest elements come first.
type Entry struct {
	Name, DType string // DType as in "F32"
	Shape       []int64
	Bytes       int64
}

// JSON is an entry as the header has it.
type JSON struct {
	DType   string  `json:"dtype"`
	Shape   []int64 `json:"shape"`
	Offsets []int64 `json:"data_offsets"`
}

// WriteHeader writes all that stands before the elements, for tensors in the order of the entries.
func WriteHeader(w io.Writer, entries []Entry, metadata map[string]string) error {
	header, err := header(entries, metadata)
	if err != nil {
		return err
	}
	if err := binary.Write(w, binary.LittleEndian, uint64(len(header))); err != nil {
		return err
	}
	_, err = w.Write(header)
	return err
}

// header is the JSON text, whose entries stand in the order of their tensors.
func header(entries []Entry, metadata map[string]string) ([]byte, error) {
	var b bytes.Buffer
	encode := json.NewEncoder(&b)
	encode.SetEscapeHTML(false)
	put := func(value any, next byte) error {
		if err := encode.Encode(value); err != nil {
			return err
		}
		b.Truncate(b.Len() - 1) // the line's end
		return b.WriteByte(next)
	}
	entry := func(name string, value any) error { return cmp.Or(put(name, ':'), put(value, ',')) }
	b.WriteByte('{')
	if len(metadata) > 0 {
		if err := entry(Metadata, metadata); err != nil {
			return nil, err
		}
	}
	offset := int64(0)
	for _, e := range entries {
		if e.Name == Metadata {
			return nil, fmt.Errorf("safetensors: a tensor cannot be named %s: the format has another use for that name", e.Name)
		}
		end := offset + e.Bytes
		if err := entry(e.Name, JSON{e.DType, e.Shape, []int64{offset, end}}); err != nil {
			return nil, err
		}
		offset = end
	}
	if b.Len() > 1 {
		b.Truncate(b.Len() - 1) // the last comma
	}
	b.WriteByte('}')
	for b.Len()%8 != 0 { // so that the elements are aligned
		b.WriteByte(' ')
	}
	return b.Bytes(), nil
}
