package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A missing file is called missing, and so is a missing folder on the way to it; other errors stay as they are.
func TestMissing(t *testing.T) {
	folder := t.TempDir()
	for path, want := range map[string]string{
		filepath.Join(folder, "x"): "reading: there is no file " + filepath.Join(folder, "x"),
		filepath.Join(folder, "no/x"): "reading: there is no folder " + filepath.Join(folder, "no") + ", and so no " +
			filepath.Join(folder, "no/x"),
		filepath.Join(folder, "no/a/x"): "reading: there is no folder " + filepath.Join(folder, "no/a") +
			", and so no " + filepath.Join(folder, "no/a/x"),
	} {
		_, err := os.Open(path)
		if err = Missing(fmt.Errorf("reading: %w", err)); err.Error() != want || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
	other := errors.New("other")
	if Missing(other) != other || Missing(nil) != nil {
		t.Error("another error is changed")
	}
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{folder: "<nil>", file: file + " is a file, and a folder is wanted",
		folder + "/no": "there is no folder " + folder + "/no"} {
		if err := NoFolder(path); fmt.Sprint(err) != want {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
	inTheWay := file + " is a file, and a folder is wanted"
	for _, path := range []string{file + "/", file + "/x", file + "/a/x"} {
		_, err := os.Open(path)
		if err = Missing(err); err == nil || err.Error() != inTheWay {
			t.Errorf("%s: %v, want %s", path, err, inTheWay)
		}
	}
	if err := Missing(os.MkdirAll(file, 0o777)); err == nil || err.Error() != inTheWay {
		t.Errorf("a folder of the file's name: %v, want %s", err, inTheWay)
	}
}
