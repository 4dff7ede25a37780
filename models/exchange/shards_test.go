package exchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/internal/safetensors"
)

// shard splits model.safetensors of a folder into two shards, and a third that holds only what is no weight.
func shard(t testing.TB, folder string) {
	t.Helper()
	d := &directory{FS: os.DirFS(folder), where: folder}
	all, err := d.readWeights("model.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	var parts [2]map[string]Tensor
	index := map[string]string{}
	for i, name := range slices.Sorted(maps.Keys(all)) {
		if i < len(parts) {
			parts[i] = map[string]Tensor{}
		}
		parts[i%2][name] = all[name]
		index[name] = fmt.Sprintf("model-0000%d-of-00003.safetensors", 1+i%2)
	}
	for i, part := range parts {
		file := filepath.Join(folder, fmt.Sprintf("model-0000%d-of-00003.safetensors", 1+i))
		if err := writeTensors(file, part, Float32); err != nil {
			t.Fatal(err)
		}
	}
	var mask bytes.Buffer
	const name, last = "model.mask", "model-00003-of-00003.safetensors"
	entry := []safetensors.Entry{{Name: name, DType: "BOOL", Shape: []int64{2}, Bytes: 2}}
	if err := safetensors.WriteHeader(&mask, entry, nil); err != nil {
		t.Fatal(err)
	}
	put(t, folder, last, append(mask.Bytes(), 0, 1))
	index[name] = last
	text, err := json.Marshal(map[string]any{"weight_map": index})
	if err != nil {
		t.Fatal(err)
	}
	put(t, folder, safetensors.IndexFile, text)
	if err := os.Remove(filepath.Join(folder, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
}

// TestShards: weights in shards are those of one file, in each class.
func TestShards(t *testing.T) {
	translator := func(folder string) (map[string]Tensor, error) {
		m, err := Read(folder, anyText)
		if err != nil {
			return nil, err
		}
		return m.Tensors, nil
	}
	for name, c := range map[string]struct {
		fill func(t testing.TB, folder string)
		read func(folder string) (map[string]Tensor, error)
	}{
		"Marian": {marianFace, translator},
		"FSMT":   {written("decoder", false), translator},
		"M2M100": {written("all", true), translator},
		"GPT-2": {gpt2Face, func(folder string) (map[string]Tensor, error) {
			m, err := ReadGPT2(folder)
			if err != nil {
				return nil, err
			}
			return m.Tensors, nil
		}},
	} {
		folder := t.TempDir()
		c.fill(t, folder)
		want, err := c.read(folder)
		if err != nil {
			t.Fatal(err)
		}
		shard(t, folder)
		got, err := c.read(folder)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

// TestBadShards: what is wrong with shards is said in one sentence that names the file.
func TestBadShards(t *testing.T) {
	const first = "model-00001-of-00003.safetensors"
	for says, spoil := range map[string]func(folder string){
		first + " is missing, a shard that": func(folder string) {
			if err := os.Remove(filepath.Join(folder, first)); err != nil {
				t.Fatal(err)
			}
		},
		`the shard "../x" of`: func(folder string) { change(t, folder, safetensors.IndexFile, first, "../x") },
		`the shard "a/x" of`:  func(folder string) { change(t, folder, safetensors.IndexFile, first, "a/x") },
		`the shard "/x" of`:   func(folder string) { change(t, folder, safetensors.IndexFile, first, "/x") },
		`the shard "." of`:    func(folder string) { change(t, folder, safetensors.IndexFile, first, ".") },
		`the shard "" of`:     func(folder string) { change(t, folder, safetensors.IndexFile, first, "") },
		first + ", which has no such tensor": func(folder string) {
			change(t, folder, safetensors.IndexFile, "model.mask", "model.masks")
			change(t, folder, safetensors.IndexFile, "model-00003-of-00003.safetensors", first)
		},
		"is no index of safetensors": func(folder string) { put(t, folder, safetensors.IndexFile, []byte("[]")) },
		"config.json is no valid safetensors": func(folder string) {
			change(t, folder, safetensors.IndexFile, first, "config.json")
		},
		"the weight embed_positions.weight is missing": func(folder string) {
			change(t, folder, safetensors.IndexFile, `"transformer.wpe.weight":"model-00001-of-00003.safetensors",`, "")
		},
	} {
		folder := t.TempDir()
		gpt2Face(t, folder)
		shard(t, folder)
		spoil(folder)
		_, err := ReadGPT2(folder)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; it should say %q", err, says)
			continue
		}
		fixtures.Sentence(t, err.Error())
	}
}
