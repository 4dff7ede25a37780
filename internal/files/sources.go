package files

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path"
	"slices"
)

// SumSources is the digest of a folder of C++, by which a library tells what it was built from: SHA-256 over the lines
// "<sha256 of the file>  <name>\n" of every .cc and .h below it, in byte order of the names, as build.sh takes it.
func SumSources(folder fs.FS) (string, error) {
	var names []string
	err := fs.WalkDir(folder, ".", func(name string, _ fs.DirEntry, err error) error {
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
