package torch

import (
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
)

// sources are those of the C++ side at the time when this package was compiled. Go does not know what a library was made
// from, and compiles anew where one of these changes.
//
//go:embed csrc
var sources embed.FS

// outdated says that the library that this process has loaded was built from other sources than these.
func outdated(sources fs.FS, built string) error {
	digest, err := csrcDigest(sources)
	if err == nil && digest != built {
		err = errors.New("third_party/lib/libaperture.so was built from other sources than torch/csrc: run ./build.sh")
	}
	return err
}

// csrcDigest is sha256 over the lines "<sha256 of the file>  <name>\n" of every .cc and .h below the folder csrc, in byte
// order of the names. build.sh puts the same into the library.
func csrcDigest(sources fs.FS) (string, error) {
	folder, err := fs.Sub(sources, "csrc")
	if err != nil {
		return "", err
	}
	var names []string
	err = fs.WalkDir(folder, ".", func(name string, _ fs.DirEntry, err error) error {
		if ending := path.Ext(name); ending == ".cc" || ending == ".h" {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	slices.Sort(names)
	all := sha256.New()
	for _, name := range names {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(all, "%x  %s\n", sha256.Sum256(text), name)
	}
	return fmt.Sprintf("%x", all.Sum(nil)), nil
}
