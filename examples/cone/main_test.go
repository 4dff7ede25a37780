package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestCone: rows that all point one way have a mean cosine of 1, rows along the axes and against them one below 0.
func TestCone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.safetensors")
	var listed, narrow, wide bytes.Buffer
	torch.Do(func() {
		scope := torch.OpenScope()
		defer scope.Close()
		var file bytes.Buffer
		if err := torch.WriteSafetensors(&file, map[string]torch.Tensor{
			"narrow": torch.FromFloat64s([]float64{1, 2, 2, 4, 3, 6}, torch.CPU, 3, 2),
			"wide":   torch.FromFloat64s([]float64{1, 0, -1, 0, 0, 1, 0, -1}, torch.CPU, 4, 2),
			"bias":   torch.FromFloat64s([]float64{1, 2}, torch.CPU, 2),
		}, nil); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, file.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := list(path, &listed); err != nil {
			t.Fatal(err)
		}
		if err := cone(path, "narrow", &narrow); err != nil {
			t.Fatal(err)
		}
		if err := cone(path, "wide", &wide); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"bias": "two dimensions", "none": `no tensor "none"`} {
			if err := cone(path, name, &listed); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	if got := listed.String(); got != "narrow [3 2]\nwide [4 2]\n" {
		t.Errorf("it lists %q", got)
	}
	for got, want := range map[string][]string{
		narrow.String(): {"mean cosine      1.0000", "effective rank   1.0 of 2"},
		wide.String(): {"mean cosine      -0.3333", "I1, I2           1.0000 0.0000", "smallest/largest 1.0000",
			"1.41 1.41"},
	} {
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("no %q in\n%s", w, got)
			}
		}
	}
}
