package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// allowed may be given on in binary form, with the texts beside it. Of a choice, one has to be among them.
var allowed = map[string]bool{"MIT": true, "BSD-2-Clause": true, "BSD-3-Clause": true, "ISC": true, "Apache-2.0": true,
	"OFL-1.1": true, "CC-BY-4.0": true, "FTL": true}

// TestLicences: each module that a program is made of has the licence that third_party/licenses.txt says it was read to
// have, and one that is allowed.
func TestLicences(t *testing.T) {
	known, err := readLicences("../../third_party/licenses.txt")
	if err != nil {
		t.Fatal(err)
	}
	list := exec.Command("go", "list", "-deps", "-f",
		"{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}", "../../runs/...")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]string{}
	for _, line := range strings.Split(string(out), "\n") {
		if path, folder, found := strings.Cut(line, " "); found {
			used[path] = folder
		}
	}
	if len(used) < 10 {
		t.Fatalf("go list names %d modules", len(used))
	}
	for path, folder := range used {
		digest, err := licenceDigest(folder)
		if err != nil {
			t.Fatal(err)
		}
		if l := known[path]; l.digest != digest {
			t.Errorf("third_party/licenses.txt says %q of %s: read the licence in %s, and write %q with what it is",
				l.digest, path, folder, path+" "+digest)
		}
		for _, all := range strings.Split(known[path].spdx, " AND ") {
			fine := false
			for _, one := range strings.Split(all, " OR ") {
				fine = fine || allowed[one]
			}
			if !fine {
				t.Errorf("%s is licensed as %q, which is not among those allowed", path, known[path].spdx)
			}
		}
	}
	for path := range known {
		if used[path] == "" {
			t.Errorf("third_party/licenses.txt has a line for %s, which no program is made of", path)
		}
	}
}

// TestWrite makes the bill of a release whose one program is this test.
func TestWrite(t *testing.T) {
	folder, libtorch := t.TempDir(), t.TempDir()
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string][]byte{filepath.Join(folder, "bin", "program"): program,
		filepath.Join(libtorch, "licenses", "torch-LICENSE"): []byte("terms\n")} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir("../..")
	if err := write(folder, libtorch, "1.2.3"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "sbom.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var b bill
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	if b.Metadata.Component.Version != "1.2.3" || b.Format != "CycloneDX" {
		t.Errorf("the bill begins with %+v", b.Metadata)
	}
	hashes := map[string]string{}
	for _, c := range b.Components {
		if len(c.Licenses) != 1 || c.Licenses[0].Expression == "" || c.Version == "" {
			t.Errorf("%+v lacks a licence or version", c)
		}
		if len(c.Hashes) == 1 {
			hashes[c.Name] = c.Hashes[0].Content
		}
	}
	if len(hashes) != 3 || len(hashes["torch"]) != 64 {
		t.Errorf("packages of libtorch with a digest: %v", hashes)
	}
	for _, name := range []string{"LICENSE", "torch-LICENSE"} {
		if _, err := os.Stat(filepath.Join(folder, "licenses", name)); err != nil {
			t.Error(err)
		}
	}
	if err := write(folder, t.TempDir(), "1.2.3"); err == nil || !strings.Contains(err.Error(), "has no licenses") {
		t.Errorf("without libtorch's licences: %v", err)
	}
}

// licenceDigest is what third_party/licenses.txt states of a module.
func licenceDigest(folder string) (string, error) {
	files, err := licenceFiles(folder, "LICENSE", "COPYING")
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s has no licence", folder)
	}
	sum := sha256.New()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		sum.Write(text)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), err
}
