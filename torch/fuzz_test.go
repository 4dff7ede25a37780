package torch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/internal/safetensors"
	"github.com/aperture-ml/aperture/torch"
)

// FuzzOpenWeights reads an index of shards, and a shard: no shard outside of the folder, and tensors that fit the file.
func FuzzOpenWeights(f *testing.F) {
	whole, err := os.ReadFile("testdata/safetensors_python.safetensors")
	if err != nil {
		f.Fatal(err)
	}
	shard := file(`{"w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}}`, "abcdefgh")
	for _, index := range []string{`{"weight_map":{"w":"a.safetensors"}}`, `{"weight_map":{"w":"../secret"}}`, `{}`, ``,
		`{"weight_map":{"w":"/etc/passwd"}}`, `{"weight_map":{"w":"b.safetensors","\u001b":"a.safetensors"}}`,
		`{"weight_map":{"x":"a.safetensors"}}`, `{"weight_map":{"w":"."}}`, `{"weight_map":{"w":""}}`,
		`{"weight_map":{"w":"` + strings.Repeat(`\u0001`, 1000) + `"}}`} {
		f.Add([]byte(index), shard)
	}
	f.Add([]byte(`{"weight_map":{"w":"a.safetensors"}}`), whole)
	for _, header := range []string{`{"w":{"dtype":"F16","shape":[0,9223372036854775807],"data_offsets":[0,0]}}`,
		`{"w":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`, `{"w\n":{"dtype":"\u001b","shape":[1],"data_offsets":[0,4]}}`,
		`{"w":{"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,8]}}`} {
		f.Add([]byte(`{"weight_map":{"w":"a.safetensors"}}`), file(header, "abcdefgh"))
	}
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, index, shard []byte) {
		fixtures.Put(t, folder, safetensors.IndexFile, string(index))
		fixtures.Put(t, folder, "a.safetensors", string(shard))
		torch.Test(t, func() {
			fixtures.Promise(t, 2*(len(index)+len(shard)), func() error {
				w, err := torch.OpenWeights(folder)
				if err != nil {
					return err
				}
				for _, name := range append(w.Matrices(), "w", "") {
					x, err := w.ReadFloats(name, device)
					if err != nil {
						fixtures.Sentence(t, err.Error())
					} else if shape, _, _ := w.Shape(name); fmt.Sprint(x.Shape()) != fmt.Sprint(shape) {
						t.Errorf("%q of shape %v is read as %v", name, shape, x.Shape())
					}
				}
				return nil
			})
		})
	})
}

// TestLongNames: errors about tensors stay sentences, whatever they are called.
func TestLongNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	name := strings.Repeat("n", 5000)
	for _, header := range []string{`{"` + name + `":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`,
		`{"` + name + `":{"dtype":"` + name + `","shape":[1],"data_offsets":[0,4]}}`, `{"` + name + `":3}`,
		`{"w":{"dtype":"F32","shape":[` + strings.Repeat("1,", 3000) + `2],"data_offsets":[0,4]}}`} {
		if err := os.WriteFile(path, file(header, "abcd"), 0o644); err != nil {
			t.Fatal(err)
		}
		torch.Test(t, func() {
			if fixtures.Promise(t, len(header), func() error { _, _, err := torch.ReadSafetensors(path, device); return err }) == nil {
				t.Errorf("%.60s went through", header)
			}
		})
	}
}
