package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
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

// TestPrograms: none of them depends on cgo, they build without it, and each prints its help at once.
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
	build := exec.Command("go", append([]string{"build", "-o", here}, folders...)...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s", said)
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

// TestOtherSystems: the programs are right for the system that is least like this one, too. To check types takes a
// tenth of the time of compiling, which would begin with the standard library; of what others wrote, declarations are
// enough.
func TestOtherSystems(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Module")
	for _, name := range pure {
		list.Args = append(list.Args, "../../"+name)
	}
	list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=windows")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	type described struct {
		ImportPath, Dir string
		GoFiles         []string
		ImportMap       map[string]string
		Module          *struct{ Main bool }
	}
	checked := map[string]*types.Package{"unsafe": types.Unsafe}
	files, own := token.NewFileSet(), 0
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p described
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if p.ImportPath == "unsafe" {
			continue
		}
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, file)
		}
		ours := p.Module != nil && p.Module.Main
		if ours {
			own++
		}
		config := types.Config{
			IgnoreFuncBodies: !ours,
			Sizes:            types.SizesFor("gc", runtime.GOARCH),
			Importer: importerFunc(func(path string) (*types.Package, error) {
				if mapped, found := p.ImportMap[path]; found {
					path = mapped
				}
				if checked[path] == nil {
					return nil, fmt.Errorf("%s is not among what go list names", path)
				}
				return checked[path], nil
			}),
			Error: func(err error) { t.Errorf("for windows: %v", err) },
		}
		checked[p.ImportPath], _ = config.Check(p.ImportPath, files, parsed, nil)
	}
	if own < len(pure) {
		t.Errorf("go list named %d packages of this module for %d programs", own, len(pure))
	}
}

type importerFunc func(path string) (*types.Package, error)

func (f importerFunc) Import(path string) (*types.Package, error) { return f(path) }
