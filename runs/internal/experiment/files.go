package experiment

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile writes a file whole or not at all: to a temporary name beside it, synced, then renamed. A full disk is told as
// such.
func WriteFile(path string, data []byte) error {
	folder := filepath.Dir(path)
	temp, err := os.CreateTemp(folder, "."+filepath.Base(path)+".*")
	if err != nil {
		return DiskFull(err)
	}
	_, err = temp.Write(data)
	if err == nil {
		err = temp.Chmod(0o644)
	}
	if err == nil {
		err = temp.Sync()
	}
	if closed := temp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		os.Remove(temp.Name())
		return DiskFull(err)
	}
	return SyncFolder(folder)
}

// SyncFolder makes the names in a folder survive a power cut.
func SyncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	return DiskFull(folder.Sync())
}

// HashFiles returns the SHA-256, in hex, of each file by its base name, as results.json lists them. Two files of one name
// are told apart by as much of their paths as they need.
func HashFiles(paths []string) (map[string]string, error) {
	sums := make(map[string]string, len(paths))
	count := map[string]int{}
	for _, path := range paths {
		count[filepath.Base(path)]++
	}
	for _, path := range paths {
		sum, err := hashFile(path)
		if err != nil {
			return nil, fmt.Errorf("data: %w", err)
		}
		name := filepath.Base(path)
		if count[name] > 1 {
			name = filepath.ToSlash(path)
		}
		sums[name] = sum
	}
	return sums, nil
}

func hashFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

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
	return WriteFile(path, kept)
}
