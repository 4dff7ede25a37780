package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// pure are the programs that compute nothing on tensors: they are built without cgo and libtorch.
var pure = []string{"score", "text", "prepare", "sweep", "compare"}

// TestPrograms: none of them depends on cgo, they build without it for this system and for the least like it, and each prints
// its help.
func TestPrograms(t *testing.T) {
	var folders []string
	for _, name := range pure {
		folders = append(folders, "../../"+name)
		list := exec.Command("go", "list", "-deps", "-f", "{{if and .CgoFiles (not .Standard)}}{{.ImportPath}}{{end}}", "../../"+name)
		found, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		if with := strings.Fields(string(found)); len(with) > 0 {
			t.Fatalf("runs/%s depends on %s, which want a C++ library", name, strings.Join(with, ", "))
		}
	}
	here := t.TempDir()
	for system, into := range map[string]string{runtime.GOOS: here, "windows": t.TempDir()} {
		build := exec.Command("go", append([]string{"build", "-o", into}, folders...)...)
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system)
		if said, err := build.CombinedOutput(); err != nil {
			t.Fatalf("for %s: %s", system, said)
		}
	}
	for _, name := range pure {
		said, err := exec.Command(filepath.Join(here, name), "-h").CombinedOutput()
		if err != nil || !strings.Contains(string(said), "Usage: go run ./runs/"+name) {
			t.Errorf("%s -h: %v: %s", name, err, said)
		}
	}
}
