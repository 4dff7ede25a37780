package torch_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/torch"
)

const awkwardName = "name \"with\" <escapes> & ä"

// TestReadWhatPythonWrote compares every element by its bits.
func TestReadWhatPythonWrote(t *testing.T) {
	torch.Test(t, func() {
		tensors, metadata := golden(t, "safetensors_python.safetensors")
		if !maps.Equal(metadata, map[string]string{"format": "pt"}) {
			t.Errorf("the metadata are %v", metadata)
		}
		for name, want := range map[string]struct {
			dtype torch.DType
			shape []int64
		}{
			"float32": {torch.Float32, []int64{2, 4}}, "float64": {torch.Float64, []int64{5, 1}},
			"bfloat16": {torch.BFloat16, []int64{7}},
			"int64":    {torch.Int64, []int64{2, 3}}, "bool": {torch.Bool, []int64{3}},
			"empty":  {torch.Float32, []int64{3, 0, 5}},
			"scalar": {torch.Float32, []int64{}}, awkwardName: {torch.Float32, []int64{3}},
		} {
			x := tensors[name]
			if !x.Defined() || x.DType() != want.dtype || !slices.Equal(x.Shape(), want.shape) {
				t.Fatalf("%s is not %v%v", name, want.dtype, want.shape)
			}
		}
		if len(tensors) != 8 {
			t.Errorf("there are %d tensors", len(tensors))
		}
		var got32 []uint32
		for _, v := range tensors["float32"].Float32s() {
			got32 = append(got32, math.Float32bits(v))
		}
		if want := []uint32{0x7FC12345, 0xFFC00007, 0x7F800001, 0, 0x80000000, 1, 0x7F800000, 0x3F800000}; !slices.Equal(got32, want) {
			t.Errorf("float32: the bits are %x, want %x", got32, want)
		}
		var got64 []uint64
		for _, v := range tensors["float64"].Float64s() {
			got64 = append(got64, math.Float64bits(v))
		}
		if want := []uint64{0x7FF8000000ABCDEF, 0x7FF0000000000001, 1 << 63, 1, 0x3FF0000000000000}; !slices.Equal(got64, want) {
			t.Errorf("float64: the bits are %x, want %x", got64, want)
		}
		if got, want := tensors["int64"].Int64s(), []int64{0, -1, 1 << 40, math.MaxInt64, math.MinInt64, 7}; !slices.Equal(got, want) {
			t.Errorf("int64: %v, want %v", got, want)
		}
		if got := tensors["bool"].Bools(); !slices.Equal(got, []bool{true, false, true}) {
			t.Errorf("bool: %v", got)
		}
		if got := tensors["scalar"].Item(); got != 2.5 {
			t.Errorf("the scalar is %v", got)
		}
		if got := tensors["bfloat16"].Float64s()[4:]; !slices.Equal(got, []float64{1, 3.140625, math.Inf(1)}) {
			t.Errorf("bfloat16: %v", got)
		}
	})
}

// TestWriteWhatPythonWrote: the same tensors give the same bytes, which covers the
// types that Go has no bits of, and what Python expects of order and alignment.
func TestWriteWhatPythonWrote(t *testing.T) {
	torch.Test(t, func() {
		tensors, metadata := golden(t, "safetensors_python.safetensors")
		want, err := os.ReadFile("testdata/safetensors_python.safetensors")
		if err != nil {
			t.Fatal(err)
		}
		if got := written(t, tensors, metadata); !bytes.Equal(got, want) {
			t.Errorf("the bytes are\n%q\nwant\n%q", got, want)
		}
	})
}

func written(t *testing.T, tensors map[string]torch.Tensor, metadata map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := torch.WriteSafetensors(&b, tensors, metadata); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestSafetensorsOfViewsAndNothing(t *testing.T) {
	torch.Test(t, func() {
		x := torch.Arange(12, device).Reshape(3, 4)
		path := filepath.Join(t.TempDir(), "views")
		read := func(tensors map[string]torch.Tensor, metadata map[string]string) (map[string]torch.Tensor,
			map[string]string) {
			if err := os.WriteFile(path, written(t, tensors, metadata), 0o644); err != nil {
				t.Fatal(err)
			}
			back, notes, err := torch.ReadSafetensors(path, device)
			if err != nil {
				t.Fatal(err)
			}
			return back, notes
		}
		back, _ := read(map[string]torch.Tensor{"turned": x.Transpose(0, 1), "cut": x.Narrow(1, 1, 2)}, nil)
		if got := back["turned"].Int64s(); !slices.Equal(got, []int64{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}) {
			t.Errorf("a transposed tensor came back as %v", got)
		}
		if got := back["cut"].Int64s(); !slices.Equal(got, []int64{1, 2, 5, 6, 9, 10}) {
			t.Errorf("a narrowed tensor came back as %v", got)
		}
		for _, shape := range [][]int64{{0}, {0, 5}, {5, 0}, {1 << 40, 0}, {5, 0, 7}} {
			empty := map[string]torch.Tensor{"x": torch.Zeros(torch.Float32, device, shape...)}
			if back, _ = read(empty, nil); !slices.Equal(back["x"].Shape(), shape) {
				t.Errorf("nothing of shape %v came back as %v", shape, back["x"].Shape())
			}
		}
		notes := map[string]string{"a": "<1> \u2028", "b": "2\n"}
		none, again := read(nil, notes)
		if len(none) != 0 || !maps.Equal(again, notes) {
			t.Errorf("metadata alone came back as %v and %v", none, again)
		}
		if none, again = read(nil, nil); len(none) != 0 || len(again) != 0 {
			t.Errorf("nothing came back as %v and %v", none, again)
		}
	})
}

// TestLoadSafetensors: parameters of any shape and type take the values of a file, also those with more bytes than are
// read at once; a file of other parameters changes none.
func TestLoadSafetensors(t *testing.T) {
	torch.Test(t, func() {
		s := torch.NewStream(1, "values")
		values := map[string]torch.Tensor{
			"long":   s.Normal(0, 1, torch.Float32, device, 2_500_000),
			"wide":   s.Normal(0, 1, torch.Float32, device, 2, 1_200_000),
			"matrix": s.Normal(0, 1, torch.Float64, device, 1_700, 401), "scalar": s.Normal(0, 1, torch.Float32, device),
			"none": torch.Zeros(torch.Float32, device, 0, 3), "half": s.Normal(0, 1, torch.BFloat16, device, 4, 5),
		}
		path := filepath.Join(t.TempDir(), "values")
		save := func(tensors map[string]torch.Tensor) {
			if err := os.WriteFile(path, written(t, tensors, nil), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		save(values)
		var p torch.Params
		defer p.Free()
		for name, x := range values {
			p.Add(name, torch.Zeros(torch.Float64, device, x.Shape()...))
		}
		if err := p.LoadSafetensors(path); err != nil {
			t.Fatal(err)
		}
		for name, x := range values {
			fixtures.Near(t, name, p.Get(name).Float64s(), x.Float64s(), 0)
		}
		before := p.Get("matrix").Float64s()
		refused := func(tensors map[string]torch.Tensor, want string) {
			t.Helper()
			save(tensors)
			if err := p.LoadSafetensors(path); err == nil || err.Error() != path+": "+want {
				t.Errorf("the error is %v, want %s", err, want)
			}
			fixtures.Near(t, "a matrix after an error", p.Get("matrix").Float64s(), before, 0)
		}
		other := maps.Clone(values)
		other["matrix"] = torch.Zeros(torch.Float64, device, 401, 1_700)
		refused(other, "the parameter matrix has shape [401 1700], the model needs [1700 401]")
		other["matrix"], other["more"] = torch.Zeros(torch.Float64, device, 1_700, 401), torch.Zeros(torch.Float32, device, 1)
		refused(other, "the model has no parameter more")
		delete(other, "more")
		delete(other, "scalar")
		refused(other, "the parameter scalar is missing")
	})
}

// TestParamsOf: parameters that a file holds are added in its shapes, and the first other one is refused, in the words
// that loading has for it.
func TestParamsOf(t *testing.T) {
	torch.Test(t, func() {
		path := filepath.Join(t.TempDir(), "values")
		if err := os.WriteFile(path, written(t, map[string]torch.Tensor{"a": torch.Zeros(torch.Float32, device, 2, 3)}, nil),
			0o644); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			name string
			rows int64
			want string
		}{
			{"a", 2, ""},
			{"a", 3, path + ": the parameter a has shape [2 3], the model needs [3 3]"},
			{"b", 2, path + ": the parameter b is missing"},
		} {
			p, err := torch.ParamsOf(path)
			if err != nil {
				t.Fatal(err)
			}
			err = torch.Try(func() error {
				p.Add(test.name, torch.Zeros(torch.Float64, device, test.rows, 3))
				return nil
			})
			if said := fmt.Sprint(err); said != test.want && !(err == nil && test.want == "") {
				t.Errorf("adding %s of %d rows: %v, want %s", test.name, test.rows, err, test.want)
			}
			p.Free()
		}
		if _, err := torch.ParamsOf(path + "x"); err == nil {
			t.Error("a file that is not there has parameters")
		}
	})
}

// full fails at some byte, as a disk does.
type full struct{ room int }

func (w *full) Write(p []byte) (int, error) {
	if len(p) > w.room {
		return 0, errors.New("no space left")
	}
	w.room -= len(p)
	return len(p), nil
}

func TestWriteSafetensorsRefuses(t *testing.T) {
	torch.Test(t, func() {
		x := torch.Zeros(torch.Float32, device, 31)
		size := len(written(t, map[string]torch.Tensor{"x": x}, nil))
		for room := range size {
			if err := torch.WriteSafetensors(&full{room}, map[string]torch.Tensor{"x": x}, nil); err == nil {
				t.Fatalf("a disk with room for %d of %d bytes gave no error", room, size)
			}
		}
		short := torch.Zeros(torch.DType(3), device, 1) // int32
		for want, tensors := range map[string]map[string]torch.Tensor{
			"short has type dtype(3)": {"short": short},
			"cannot be named":         {"__metadata__": x},
		} {
			if err := torch.WriteSafetensors(&bytes.Buffer{}, tensors, nil); err == nil ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, want one with %q", err, want)
			}
		}
	})
}

// file is a safetensors file of that header and content.
func file(header string, content string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header+content...)
}

var brokenFiles = map[string][]byte{
	"empty":                   {},
	"no length":               {1, 2, 3},
	"length without header":   file("", "")[:8],
	"length beyond the file":  binary.LittleEndian.AppendUint64(nil, 100),
	"length beyond the limit": append(binary.LittleEndian.AppendUint64(nil, 101<<20), '{', '}'),
	"length above 2^63":       append(binary.LittleEndian.AppendUint64(nil, math.MaxUint64), '{', '}'),
	"not JSON":                file(`{"x":`, ""),
	"a list":                  file(`[]`, ""),
	"null":                    file(`null`, ""),
	"a number for an entry":   file(`{"x":1}`, ""),
	"no dtype":                file(`{"x":{"shape":[1],"data_offsets":[0,4]}}`, "abcd"),
	"no shape":                file(`{"x":{"dtype":"F32","data_offsets":[0,4]}}`, "abcd"),
	"no offsets":              file(`{"x":{"dtype":"F32","shape":[0]}}`, ""),
	"one offset":              file(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[4]}}`, "abcd"),
	"three offsets":           file(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}}`, "abcd"),
	"a fractional offset":     file(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4.5]}}`, "abcd"),
	"an unknown dtype":        file(`{"x":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]}}`, "abcd"),
	"a negative size":         file(`{"x":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}`, "abcd"),
	"negative sizes":          file(`{"x":{"dtype":"F32","shape":[-1,-1],"data_offsets":[0,4]}}`, "abcd"),
	"a huge shape": file(`{"x":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,64]}}`,
		"abcd"),
	"a huge shape of nothing":     file(`{"x":{"dtype":"F32","shape":[0,4611686018427387904,4611686018427387904],"data_offsets":[0,0]}}`, ""),
	"a huge shape before nothing": file(`{"x":{"dtype":"F32","shape":[4611686018427387904,4611686018427387904,0],"data_offsets":[0,0]}}`, ""),
	"a negative size and nothing": file(`{"x":{"dtype":"F32","shape":[-1,0],"data_offsets":[0,0]}}`, ""),
	"a size beyond int64": file(`{"x":{"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,4]}}`,
		"abcd"),
	"offsets beyond the file":   file(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, "abcd"),
	"offsets in reverse":        file(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}`, "abcd"),
	"offsets of another shape":  file(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, "abcdefgh"),
	"a hole":                    file(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, "abcdefgh"),
	"an overlap":                file(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"y":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, "abcdefgh"),
	"a shared place":            file(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"y":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, "abcd"),
	"bytes after the last":      file(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, "abcdefgh"),
	"bytes and no tensor":       file(`{}`, "a"),
	"a boolean of 2":            file(`{"x":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}}`, "\x01\x02"),
	"numbers for metadata":      file(`{"__metadata__":{"a":1}}`, ""),
	"a string for the metadata": file(`{"__metadata__":"a"}`, ""),
}

// TestBrokenSafetensors: whatever is wrong with a file is an error that names it.
func TestBrokenSafetensors(t *testing.T) {
	torch.Test(t, func() {
		folder := t.TempDir()
		for what, content := range brokenFiles {
			path := filepath.Join(folder, "broken.safetensors")
			if err := os.WriteFile(path, content, 0o644); err != nil {
				t.Fatal(err)
			}
			_, _, err := torch.ReadSafetensors(path, device)
			if err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: the error is %v", what, err)
			}
		}
		for _, path := range []string{filepath.Join(folder, "none"), folder} {
			if _, _, err := torch.ReadSafetensors(path, device); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("the error for %s is %v", path, err)
			}
		}
	})
	path := "testdata/safetensors_python.safetensors"
	torch.Do(func() {
		if _, _, err := torch.ReadSafetensors(path, device); err == nil ||
			!strings.HasPrefix(err.Error(), "reading "+path+": ReadSafetensors: no scope") {
			t.Errorf("without a scope the error is %v", err)
		}
	})
}

// TestCutSafetensors cuts a good file at every byte.
func TestCutSafetensors(t *testing.T) {
	torch.Test(t, func() {
		whole, err := os.ReadFile("testdata/safetensors_python.safetensors")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "cut.safetensors")
		for n := range whole {
			if err := os.WriteFile(path, whole[:n], 0o644); err != nil {
				t.Fatal(err)
			}
			if _, _, err := torch.ReadSafetensors(path, device); err == nil {
				t.Errorf("a file cut after %d of %d bytes gave no error", n, len(whole))
			}
		}
	})
}

// FuzzReadSafetensors: no content panics, and what can be read is written and
// read again as it was.
func FuzzReadSafetensors(f *testing.F) {
	for _, content := range brokenFiles {
		f.Add(content)
	}
	whole, err := os.ReadFile("testdata/safetensors_python.safetensors")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(file(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"y":{"dtype":"BOOL","shape":[],"data_offsets":[4,5]}}`, "abcd\x01"))
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "fuzzed")
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		torch.Test(t, func() {
			tensors, metadata, err := torch.ReadSafetensors(path, device)
			if err != nil {
				return
			}
			first := written(t, tensors, metadata)
			if err := os.WriteFile(path, first, 0o644); err != nil {
				t.Fatal(err)
			}
			again, notes, err := torch.ReadSafetensors(path, device)
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(metadata) != fmt.Sprint(notes) || !bytes.Equal(written(t, again, notes), first) {
				t.Error("the file changes each time it is read and written")
			}
		})
	})
}
