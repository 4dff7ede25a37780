package record

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// FuzzResults reads what lies beside a run: its results, what was measured of its model, and evaluations.
func FuzzResults(f *testing.F) {
	for _, text := range []string{"{}", "", "null", "[]", `{"run":"ptb","seed":1,"valid":{"nll":1e999}}`, `{"seed":"x"}`,
		`{"test":{"\u001b[2J":{"nll":3}},"singular_values":[1,null]}`, `{"picture":{"Plain":{"X":[1]}},"edition":3}`,
		`{"run":1e5}`, `{"epochs":[[[[]]]]}`, "{\"run\":\"\x1b\xff\"}"} {
		f.Add([]byte(text), []byte(text))
	}
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, results, other []byte) {
		for name, data := range map[string][]byte{File: results, modelFile: other, "evaluation-cache.json": other} {
			if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		size := 2 * (len(results) + len(other))
		fixtures.Promise(t, size, func() error { _, err := Read(folder); return err })
		fixtures.Promise(t, size, func() error { _, err := ReadModel(folder); return err })
		fixtures.Promise(t, size, func() error { _, err := ReadEvaluation(folder, "cache"); return err })
	})
}
