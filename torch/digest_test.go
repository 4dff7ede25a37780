package torch

import (
	"maps"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// TestOutdated: a library of other sources is refused, whether a file is changed, added, moved or gone.
func TestOutdated(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	was := fstest.MapFS{"csrc/api.h": file("void f();"), "csrc/sums/sum.cc": file("void f() {}"), "csrc/note.md": file("x")}
	built, err := csrcDigest(was)
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

// What this package was compiled with is what lies in csrc, hidden files and all.
func TestSources(t *testing.T) {
	lie, err := csrcDigest(os.DirFS("."))
	if compiled, _ := csrcDigest(sources); err != nil || lie != compiled {
		t.Errorf("torch/csrc has the digest %s, and this package holds %s (%v)", lie, compiled, err)
	}
	if refused != nil {
		t.Error(refused)
	}
}
