package command

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Program is the path of the program under runs/ of that name: it lies beside this one, or is built into a folder.
func Program(name, folder string) (string, error) {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	return Build(name, folder)
}

// Build builds the program under runs/ of that name into a folder. It needs Aperture's source around the working
// directory.
func Build(name, folder string) (path string, err error) {
	if path, err = filepath.Abs(filepath.Join(folder, name)); err != nil {
		return "", err
	}
	var said bytes.Buffer
	build := exec.Command("go", "build", "-o", path, "github.com/aperture-ml/aperture/runs/"+name)
	build.Stderr = &said
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("runs/%s cannot be built (go build, in Aperture's folder): %s", name,
			OneLine(said.String()+" "+err.Error()))
	}
	return path, nil
}
