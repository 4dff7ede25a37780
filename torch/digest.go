package torch

import (
	"embed"
	"errors"
	"io/fs"

	"github.com/aperture-ml/aperture/internal/files"
)

// sources are those of the C++ side at the time when this package was compiled. Go does not know what a library was
// made from, and compiles anew where one of these changes.
//
//go:embed all:csrc
var sources embed.FS

// outdated says that the library that this process has loaded was built from other sources than these.
func outdated(sources fs.FS, built string) error {
	csrc, err := fs.Sub(sources, "csrc")
	if err != nil {
		return err
	}
	digest, err := files.SumSources(csrc)
	if err == nil && digest != built {
		err = errors.New("third_party/lib/libaperture.so was built from other sources than torch/csrc: run ./build.sh")
	}
	return err
}
