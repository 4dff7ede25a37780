package torch

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/aperture-ml/aperture/internal/files"
)

// TestOutdated: a library of other sources is refused, whether a file is changed, added, moved or gone.
func TestOutdated(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	was := fstest.MapFS{"csrc/api.h": file("void f();"), "csrc/sums/sum.cc": file("void f() {}"), "csrc/note.md": file("x")}
	csrc, err := fs.Sub(was, "csrc")
	if err != nil {
		t.Fatal(err)
	}
	built, err := files.SumSources(csrc)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(now fstest.MapFS){
		"changed": func(now fstest.MapFS) { now["csrc/api.h"] = file("void f() ;") },
		"added":   func(now fstest.MapFS) { now["csrc/sums/other.cc"] = file("") },
		"moved":   func(now fstest.MapFS) { now["csrc/sum.cc"] = now["csrc/sums/sum.cc"]; delete(now, "csrc/sums/sum.cc") },
		"gone":    func(now fstest.MapFS) { delete(now, "csrc/api.h") },
	} {
		now := maps.Clone(was)
		change(now)
		if err := outdated(now, built); err == nil || !strings.Contains(err.Error(), "run ./build.sh") {
			t.Errorf("a file that is %s: %v", name, err)
		}
	}
	was["csrc/note.md"] = file("y") // which is not compiled
	if err := outdated(was, built); err != nil {
		t.Error(err)
	}
}

// The library is built from what lies in csrc, hidden files and all, and so is this package.
func TestSources(t *testing.T) {
	if err := outdated(os.DirFS("."), CSRCDigest()); err != nil {
		t.Error(err)
	}
	if refused != nil {
		t.Error(refused)
	}
}

// TestHiddenSources: a hidden file in csrc, which build.sh takes, is one of the sources of this package.
func TestHiddenSources(t *testing.T) {
	hidden, err := filepath.Abs("csrc/operators/.kept.h")
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	text, err := json.Marshal(map[string]map[string]string{"Replace": {hidden: filepath.Join(filepath.Dir(hidden), "../api.h")}})
	if err == nil {
		err = os.WriteFile(overlay, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	list := exec.Command("go", "list", "-overlay", overlay, "-f", `{{join .EmbedFiles "\n"}}`, ".")
	if out, err := list.Output(); err != nil || !strings.Contains(string(out), "csrc/operators/.kept.h") {
		t.Errorf("%v; it is none of\n%s", err, out)
	}
}
