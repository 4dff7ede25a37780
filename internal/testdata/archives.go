package testdata

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// Zstandard packs a text with Zstandard.
func Zstandard(t testing.TB, text string) string {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(w.EncodeAll([]byte(text), nil))
}

// Gzip packs a text with gzip.
func Gzip(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	must(t, err)
	must(t, w.Close())
	return b.String()
}

// Tar makes a tar file of members by their paths, in the order of these.
func Tar(t testing.TB, members map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		must(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(members[name])), Typeflag: tar.TypeReg}))
		_, err := w.Write([]byte(members[name]))
		must(t, err)
	}
	must(t, w.Close())
	return b.String()
}

// Zip makes a zip file of members by their paths.
func Zip(t testing.TB, members map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		file, err := w.Create(name)
		must(t, err)
		_, err = file.Write([]byte(members[name]))
		must(t, err)
	}
	must(t, w.Close())
	return b.String()
}

// Put writes a file of a folder, in folders of its own where its name has them.
func Put(t testing.TB, folder, name, content string) {
	t.Helper()
	path := filepath.Join(folder, filepath.FromSlash(name))
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(content), 0o644))
}

// Read returns what a file of a folder holds.
func Read(t testing.TB, folder, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
	must(t, err)
	return string(data)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
