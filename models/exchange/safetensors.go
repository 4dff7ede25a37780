package exchange

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/aperture-ml/aperture/internal/safetensors"
)

// sizes are the bytes of an element by type.
var sizes = map[string]int64{"F32": 4, "F16": 2, "BF16": 2, "F64": 8, "I64": 8, "I32": 4, "U8": 1, "I8": 1, "BOOL": 1}

// readWeights reads the tensors of floating point of a safetensors file as float32; others have no values.
func (d *directory) readWeights(name string) (map[string]Tensor, error) {
	f, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	r := bufio.NewReaderSize(f, 1<<20)
	broken := func(err error) (map[string]Tensor, error) {
		return nil, fmt.Errorf("%s is no valid safetensors file: %w", d.path(name), err)
	}
	entries, _, content, err := safetensors.ReadHeader(r, info.Size())
	if err != nil {
		return broken(err)
	}
	names, err := safetensors.Lay(entries, content, func(dtype string) int64 { return sizes[dtype] })
	if err != nil {
		return broken(err)
	}
	tensors := make(map[string]Tensor, len(names))
	for _, name := range names {
		e := entries[name]
		t := Tensor{}
		for _, n := range e.Shape {
			t.Shape = append(t.Shape, int(n))
		}
		if e.Offsets[0] == e.Offsets[1] { // the other sides may be as large as one likes
			return broken(fmt.Errorf("%s has no numbers: get the file again", name))
		}
		if t.Values, err = readFloats(r, e.DType, e.Offsets[1]-e.Offsets[0]); err != nil {
			return broken(fmt.Errorf("%s: %w", name, err))
		}
		tensors[name] = t
	}
	return tensors, nil
}

// readShards is readWeights for the shards that an index names.
func (d *directory) readShards(index string) (map[string]Tensor, error) {
	text, err := d.read(index, largestText)
	if err != nil {
		return nil, err
	}
	tensors, _, err := safetensors.ReadShards(d.path(index), text, func(shard string) (map[string]Tensor, error) {
		if !d.has(shard) {
			return nil, fmt.Errorf("%s is missing, a shard that %s names: get the whole model", d.path(shard), index)
		}
		return d.readWeights(shard)
	})
	return tensors, err
}

// readFloats reads numbers from that number of bytes; those that are no floating point it skips, and gives nil.
func readFloats(r io.Reader, dtype string, bytes int64) ([]float32, error) {
	size := sizes[dtype]
	switch dtype {
	case "F32", "F16", "BF16", "F64":
	default:
		_, err := io.CopyN(io.Discard, r, bytes)
		return nil, err
	}
	values := make([]float32, 0, bytes/size)
	buffer := make([]byte, min(bytes, 1<<16))
	for bytes > 0 {
		block := buffer[:min(bytes, int64(len(buffer)))]
		if _, err := io.ReadFull(r, block); err != nil {
			return nil, err
		}
		bytes -= int64(len(block))
		for ; len(block) > 0; block = block[size:] {
			switch dtype {
			case "F32":
				values = append(values, math.Float32frombits(binary.LittleEndian.Uint32(block)))
			case "F64":
				values = append(values, float32(math.Float64frombits(binary.LittleEndian.Uint64(block))))
			case "F16":
				values = append(values, unhalf(binary.LittleEndian.Uint16(block)))
			case "BF16":
				values = append(values, math.Float32frombits(uint32(binary.LittleEndian.Uint16(block))<<16))
			}
		}
	}
	return values, nil
}

// unhalf is a float16 as float32, which holds all of them.
func unhalf(h uint16) float32 {
	sign := 1 - 2*float64(h>>15)
	exponent, mantissa := int(h>>10&31), float64(h&1023)
	switch exponent {
	case 0:
		return float32(sign * math.Ldexp(mantissa, -24))
	case 31:
		if mantissa > 0 {
			return float32(math.NaN())
		}
		return float32(math.Inf(int(sign)))
	}
	return float32(sign * math.Ldexp(1024+mantissa, exponent-25))
}
