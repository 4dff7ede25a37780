package torch_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestReadShards: matrices of a checkpoint in shards, in all floating-point types, are those that PyTorch converts to
// float32, bit for bit.
func TestReadShards(t *testing.T) {
	torch.Test(t, func() {
		for _, path := range []string{"testdata/shards", "testdata/shards/model.safetensors.index.json"} {
			w, err := torch.OpenWeights(path)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := w.Matrices(), []string{"brain", "brain.float32", "double", "half", "half.float32"}; !slices.Equal(got, want) {
				t.Errorf("the matrices are %v", got)
			}
			if shape, dtype, known := w.Shape("half"); !known || dtype != "F16" || !slices.Equal(shape, []int64{4, 4}) {
				t.Errorf("half is %v %v", dtype, shape)
			}
			for _, name := range []string{"half", "brain"} {
				got, err := w.ReadFloats(name, torch.CPU)
				if err != nil {
					t.Fatal(err)
				}
				want, err := w.ReadFloats(name+".float32", torch.CPU)
				if err != nil {
					t.Fatal(err)
				}
				for i, x := range got.Float32s() {
					if y := want.Float32s()[i]; math.Float32bits(x) != math.Float32bits(y) {
						t.Errorf("%s: number %d is %v, want %v", name, i, x, y)
					}
				}
			}
			if x, err := w.ReadFloats("double", torch.CPU); err != nil ||
				!slices.Equal(x.Float64s(), []float64{0.1, 0.2}) {
				t.Errorf("double: %v", err)
			}
		}
		one, err := torch.OpenWeights("testdata/shards/model-00002-of-00002.safetensors")
		if err != nil || len(one.Matrices()) != 3 || one.Missing("") != "" {
			t.Errorf("one shard has the matrices %v (%v)", one.Matrices(), err)
		}
	})
}

// TestHalfPrecision goes through all numbers of half precision.
func TestHalfPrecision(t *testing.T) {
	torch.Test(t, func() {
		const header = `{"x":{"dtype":"F16","shape":[256,256],"data_offsets":[0,131072]}}`
		text := append([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}, header...)
		for i := range 1 << 16 {
			text = append(text, byte(i), byte(i>>8))
		}
		path := filepath.Join(t.TempDir(), "half.safetensors")
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		w, err := torch.OpenWeights(path)
		if err != nil {
			t.Fatal(err)
		}
		x, err := w.ReadFloats("x", torch.CPU)
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range x.Float32s() {
			want := math.Ldexp(float64(i&1023), -24)
			if e := i >> 10 & 31; e == 31 {
				want = math.Inf(1)
				if i&1023 != 0 {
					want = math.NaN()
				}
			} else if e > 0 {
				want = math.Ldexp(float64(1024+i&1023), e-25)
			}
			if i>>15 == 1 {
				want = -want
			}
			if float64(got) != want && !(math.IsNaN(want) && math.IsNaN(float64(got))) || want == 0 &&
				math.Signbit(float64(got)) != (i>>15 == 1) {
				t.Fatalf("%#x is %v, want %v", i, got, want)
			}
		}
	})
}

// TestWeightsInBrackets: a folder's name is no pattern.
func TestWeightsInBrackets(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "[old] a*")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "a.safetensors")
	if err := os.WriteFile(path, file("{}", ""), 0o644); err != nil {
		t.Fatal(err)
	}
	if w, err := torch.OpenWeights(folder); err != nil || w.Path() != path {
		t.Errorf("%v", err)
	}
}

// TestStaleIndex: a save in one file leaves the index of an earlier one in shards, and is what a folder holds.
func TestStaleIndex(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "model.safetensors")
	for path, data := range map[string][]byte{path: file("{}", ""), path + ".index.json": []byte("{}")} {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if w, err := torch.OpenWeights(folder); err != nil || w.Path() != path {
		t.Errorf("%v", err)
	}
}

// TestWeightsOfNothing: an empty matrix is read whichever of its sides is 0.
func TestWeightsOfNothing(t *testing.T) {
	torch.Test(t, func() {
		path := filepath.Join(t.TempDir(), "a.safetensors")
		for _, shape := range []string{"[0,5]", "[5,0]"} {
			text := file(`{"x":{"dtype":"F32","shape":`+shape+`,"data_offsets":[0,0]}}`, "")
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
			w, err := torch.OpenWeights(path)
			if err != nil {
				t.Fatal(err)
			}
			if x, err := w.ReadFloats("x", torch.CPU); err != nil || x.Count() != 0 {
				t.Errorf("%s: %v", shape, err)
			}
		}
	})
}

// TestRefusedShards: what is wrong with a checkpoint is reported in a sentence that names the file.
func TestRefusedShards(t *testing.T) {
	torch.Test(t, func() {
		folder := func(files map[string]string) string {
			place := t.TempDir()
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(place, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			return place
		}
		second, err := os.ReadFile("testdata/shards/model-00002-of-00002.safetensors")
		if err != nil {
			t.Fatal(err)
		}
		index := func(entries string) map[string]string {
			return map[string]string{"model.safetensors.index.json": `{"weight_map": {` + entries + `}}`,
				"b.safetensors": string(second)}
		}
		for says, path := range map[string]string{
			"no such file":               folder(nil) + "/none.safetensors",
			"holds no .safetensors file": folder(nil),
			"holds 2 .safetensors files": folder(map[string]string{"a.safetensors": "", "b.safetensors": ""}),
			"is no index of safetensors": folder(map[string]string{"model.safetensors.index.json": "{}"}),
			"is no name of a file":       folder(index(`"brain": "../b.safetensors"`)),
			"which has no such tensor":   folder(index(`"half": "b.safetensors"`)),
			"no valid safetensors file":  folder(map[string]string{"a.safetensors": "none"}),
			"lies at bytes [0 400] of 16": folder(
				map[string]string{"a.safetensors": "\x40\x00\x00\x00\x00\x00\x00\x00" +
					`{"x":{"dtype":"F32","shape":[10,10],"data_offsets":[0,400]}}    ` + strings.Repeat("0", 16)}),
		} {
			if _, err := torch.OpenWeights(path); err == nil || !strings.Contains(err.Error(), says) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("%v does not say %q", err, says)
			}
		}
		w, err := torch.OpenWeights(folder(index(`"brain": "b.safetensors", "half": "a.safetensors"`)))
		if err != nil || !slices.Equal(w.Matrices(), []string{"brain"}) || w.Missing("half") != "a.safetensors" ||
			w.Missing("") != "a.safetensors" || w.Missing("brain") != "" {
			t.Fatalf("without a shard: %v", err)
		}
		wrong, err := torch.OpenWeights(folder(map[string]string{"a.safetensors": "\x40\x00\x00\x00\x00\x00\x00\x00" +
			`{"x":{"dtype":"F32","shape":[10,10],"data_offsets":[0,16]}}     ` + strings.Repeat("0", 16)}))
		if err != nil {
			t.Fatal(err)
		}
		for says, read := range map[string]func() (torch.Tensor, error){
			"is in the shard a.safetensors": func() (torch.Tensor, error) { return w.ReadFloats("half", torch.CPU) },
			"has no tensor bias":            func() (torch.Tensor, error) { return w.ReadFloats("bias", torch.CPU) },
			"does not fit its 16 bytes":     func() (torch.Tensor, error) { return wrong.ReadFloats("x", torch.CPU) },
		} {
			if _, err := read(); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%v does not say %q", err, says)
			}
		}
	})
}
