package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// pure are the programs that compute nothing on tensors: they are built without cgo and libtorch.
var pure = []string{"score", "text", "prepare", "sweep", "compare"}

// helpLimit is how long a program may compute before its first line. Wall time would count what other programs do.
const helpLimit = 30 * time.Millisecond

// TestPrograms: none of them depends on cgo, they build without it for this system and for the least like it, and each
// prints its help at once.
func TestPrograms(t *testing.T) {
	var folders []string
	for _, name := range pure {
		folders = append(folders, "../../"+name)
		const needsCgo = "{{if and .CgoFiles (not .Standard)}}{{.ImportPath}}{{end}}"
		list := exec.Command("go", "list", "-deps", "-f", needsCgo, "../../"+name)
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
		fastest := time.Hour
		for range 5 {
			help := exec.Command(filepath.Join(here, name), "-h")
			said, err := help.CombinedOutput()
			if err != nil || !strings.Contains(string(said), "Usage: go run ./runs/"+name) {
				t.Fatalf("%s -h: %v: %s", name, err, said)
			}
			fastest = min(fastest, help.ProcessState.UserTime()+help.ProcessState.SystemTime())
		}
		if fastest > helpLimit {
			t.Errorf("%s -h takes %v of a processor's time, want at most %v", name, fastest, helpLimit)
		}
	}
}
