// Command training is all programs that train in one file: it is the run that it is called by. build.sh gives it the
// name of each run, so that nine programs of 32 MB lie in bin/ once.
package main

import (
	"os"
	"path/filepath"

	"github.com/aperture-ml/aperture/runs/internal/train"
)

func main() {
	self, err := os.Executable() // whatever links lead to it
	if err != nil {
		self = os.Args[0]
	}
	train.Main(filepath.Base(self))
}
