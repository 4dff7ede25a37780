package experiment

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"github.com/aperture-ml/aperture/internal/files"
)

// truncateMetrics cuts a file of JSON lines back to those of step and before. A last line without an end, or one that is
// no JSON, is what a killed process left: it and all that follows is dropped.
func truncateMetrics(path string, step int64) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var kept []byte
	for line := range bytes.Lines(data) {
		var record struct{ Step *int64 }
		if line[len(line)-1] != '\n' || json.Unmarshal(line, &record) != nil || record.Step == nil {
			break
		}
		if *record.Step <= step {
			kept = append(kept, line...)
		}
	}
	if len(kept) == len(data) {
		return nil
	}
	return files.Write(path, kept)
}
