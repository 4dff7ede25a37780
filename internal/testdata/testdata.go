// Package testdata finds corpora that tests use but the repository does not
// ship, because their licences differ, and makes archives in the shape of those
// that cannot be had for tests.
//
// # Basics
//
// Path looks in $APERTURE_DATA, else in ../shared/data beside the module's root.
// Published fills a folder with what the page of a corpus offers, of artificial text.
//
// # Caveats
//
// A missing file skips the test, with a line that says what was not found;
// APERTURE_REQUIRE_DATA=1 turns that skip into a failure.
package testdata

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Dir returns the folder that is searched for corpora.
func Dir() string {
	if dir := os.Getenv("APERTURE_DATA"); dir != "" {
		return dir
	}
	_, file, _, _ := runtime.Caller(0)
	root := filepath.Dir(filepath.Dir(filepath.Dir(file)))
	return filepath.Join(root, "..", "shared", "data")
}

// Path returns the path of a corpus file such as "multi30k/train.de". Without
// the file the test is skipped, or fails where APERTURE_REQUIRE_DATA=1.
func Path(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(Dir(), filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("APERTURE_REQUIRE_DATA") == "1" {
			t.Fatalf("data not found: %s", path)
		}
		t.Skipf("data not found: %s (set APERTURE_DATA to the folder that holds it)", path)
	}
	return path
}
