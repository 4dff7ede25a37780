package torch

import (
	"bufio"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/internal/safetensors"
)

// Weights are the tensors of a checkpoint that any program wrote as safetensors, in one file or in shards. Their
// headers are read at once, a tensor when it is asked for: of a model of many gigabytes one matrix can be had.
type Weights struct {
	path    string
	tensors map[string]stored
	missing map[string]string // tensors whose shard is not there, with the name of that
}

// stored is where a tensor lies.
type stored struct {
	file  string
	start int64 // of the content, in the file
	entry safetensors.JSON
}

// OpenWeights reads the headers of a .safetensors file, of the shards that an index file (.json) names, or of what a
// folder holds of these. A shard that is not there is an error when a tensor of it is read.
func OpenWeights(path string) (*Weights, error) {
	w, err := openWeights(path)
	return w, files.Plain(err)
}

func openWeights(path string) (*Weights, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	w := &Weights{path: path, tensors: map[string]stored{}, missing: map[string]string{}}
	if info.IsDir() {
		if w.path, err = weightsIn(path); err != nil {
			return nil, err
		}
	}
	if strings.HasSuffix(w.path, ".json") {
		return w, w.readIndex()
	}
	entries, err := readStored(w.path)
	maps.Copy(w.tensors, entries)
	return w, err
}

// weightsIn finds the file of a folder to begin with.
func weightsIn(folder string) (string, error) {
	// A save in one file may have left the index of an earlier save in shards.
	for _, name := range []string{"model.safetensors", safetensors.IndexFile} {
		path := filepath.Join(folder, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	found, err := fs.Glob(os.DirFS(folder), "*.safetensors") // the folder's name is no pattern
	switch {
	case err != nil:
		return "", err
	case len(found) == 1:
		return filepath.Join(folder, found[0]), nil
	case len(found) == 0:
		return "", fmt.Errorf("%s holds no .safetensors file: name the folder of a checkpoint in that format, or the "+
			"file itself", folder)
	}
	return "", fmt.Errorf("%s holds %d .safetensors files and no %s that says what is in which: name one of the files",
		folder, len(found), safetensors.IndexFile)
}

// readIndex reads the headers of all shards that there are.
func (w *Weights) readIndex() error {
	text, err := os.ReadFile(w.path)
	if err != nil {
		return err
	}
	w.tensors, w.missing, err = safetensors.ReadShards(w.path, text, func(shard string) (map[string]stored, error) {
		return readStored(filepath.Join(filepath.Dir(w.path), shard))
	})
	return err
}

// readStored reads the header of a file.
func readStored(path string) (map[string]stored, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	entries, _, content, err := safetensors.ReadHeader(bufio.NewReader(f), info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s is no valid safetensors file: %w", path, err)
	}
	all := make(map[string]stored, len(entries))
	for name, e := range entries {
		if e.Offsets[0] < 0 || e.Offsets[1] < e.Offsets[0] || e.Offsets[1] > content {
			return nil, fmt.Errorf("%s is no valid safetensors file: %s lies at bytes %v of %d", path, name, e.Offsets,
				content)
		}
		all[name] = stored{path, info.Size() - content, e}
	}
	return all, nil
}

// Path is the file that the weights begin with.
func (w *Weights) Path() string { return w.path }

// Matrices are the names of all tensors with two dimensions that hold floating-point numbers, sorted.
func (w *Weights) Matrices() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(w.tensors)) {
		e := w.tensors[name].entry
		if _, floats := floatType(e.DType); floats && len(e.Shape) == 2 {
			names = append(names, name)
		}
	}
	return names
}

// Shape is the shape of a tensor, and its type as the format writes it, "BF16"; known is false for one that is not
// there.
func (w *Weights) Shape(name string) (shape []int64, dtype string, known bool) {
	s, known := w.tensors[name]
	return s.entry.Shape, s.entry.DType, known
}

// Missing is the shard that a tensor should be in and that is not there; empty for other tensors. Without a name it is
// any such shard.
func (w *Weights) Missing(name string) string {
	if name == "" {
		for _, tensor := range slices.Sorted(maps.Keys(w.missing)) {
			return w.missing[tensor]
		}
	}
	return w.missing[name]
}

// floatType is a type of floating-point numbers by its name in the format; known is false for other types.
func floatType(name string) (found safetensorsType, known bool) {
	found = typeNamed(name)
	return found, found.size > 0 && found.dtype != Int64 && found.dtype != Bool
}

// ReadFloats reads a tensor of floating-point numbers: a float64 tensor as that, all others as float32, which holds
// float16 and bfloat16 exactly. It is in the innermost scope.
func (w *Weights) ReadFloats(name string, d Device) (x Tensor, err error) {
	x, err = w.readFloats(name, d)
	return x, files.Plain(err)
}

func (w *Weights) readFloats(name string, d Device) (x Tensor, err error) {
	s, known := w.tensors[name]
	kind, floats := floatType(s.entry.DType)
	if shard := w.missing[name]; shard != "" {
		return x, fmt.Errorf("%s is in the shard %s of %s, which is not there: get it, or name a tensor of another "+
			"shard", name, shard, w.path)
	}
	if !known || !floats {
		return x, fmt.Errorf("%s has no tensor %s of floating-point numbers", w.path, name)
	}
	bytes := s.entry.Offsets[1] - s.entry.Offsets[0]
	if safetensors.Length(s.entry.Shape, kind.size, bytes) != bytes {
		return x, fmt.Errorf("%s is no valid safetensors file: %s of shape %v does not fit its %d bytes", s.file, name,
			s.entry.Shape, bytes)
	}
	f, err := os.Open(s.file)
	if err != nil {
		return x, err
	}
	defer f.Close()
	data := make([]byte, bytes)
	if _, err := f.ReadAt(data, s.start+s.entry.Offsets[0]); err != nil {
		return x, fmt.Errorf("%s: %s cannot be read: %w", s.file, name, err)
	}
	err = Try(func() error {
		x = fromData("ReadFloats", unsafe.Pointer(unsafe.SliceData(data)), int(bytes/kind.size), kind.dtype, d, s.entry.Shape)
		if kind.dtype != Float64 {
			x = x.To(Float32, d)
		}
		return nil
	})
	return x, err
}
