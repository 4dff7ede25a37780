package torch_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// csrcDigest is the digest of the C++ sources as they are now: sha256 over the
// lines "<sha256 of the file>  <name>\n" of every .cc and .h below the folder, in byte
// order of the names. build.sh puts the same into the library.
func csrcDigest(t *testing.T, folder string) string {
	t.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && (strings.HasSuffix(name, ".cc") || strings.HasSuffix(name, ".h")) {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	all := sha256.New()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(all, "%x  %s\n", sha256.Sum256(text), name)
	}
	return fmt.Sprintf("%x", all.Sum(nil))
}

// Go rebuilds its own side whenever a source changes and knows nothing of the C++
// side, so that a forgotten build.sh would test old code.
func TestLibraryIsBuiltFromTheseSources(t *testing.T) {
	if csrcDigest(t, "csrc") != torch.CSRCDigest() {
		t.Fatal("third_party/lib/libaperture.so was built from other sources than torch/csrc: run ./build.sh")
	}
}
