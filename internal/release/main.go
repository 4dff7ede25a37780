// Command release writes what goes into a release beside its programs and libraries: sbom.cdx.json, a bill of materials
// in CycloneDX 1.5, and licenses/, the licences of all that is in it. build.sh dist runs it in the repository's root.
//
//	release FOLDER LIBTORCH VERSION
//
// The modules are those that the programs in FOLDER/bin say they were built from, with the licences of
// third_party/licenses.txt; the packages of libtorch those of third_party/requirements.txt, with the licences in
// LIBTORCH/licenses.
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: release FOLDER LIBTORCH VERSION")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func write(folder, libtorch, version string) error {
	modules, toolchain, err := builtFrom(filepath.Join(folder, "bin"))
	if err != nil {
		return err
	}
	known, err := readLicences("third_party/licenses.txt")
	if err != nil {
		return err
	}
	requirements, err := os.ReadFile("third_party/requirements.txt")
	if err != nil {
		return err
	}
	bill := newBill(version)
	bill.Components = append(bill.Components, component{Type: "library", Name: "Go's standard library",
		Version: toolchain, PURL: "pkg:golang/std@" + toolchain, Licenses: expression("BSD-3-Clause")})
	into := filepath.Join(folder, "licenses")
	for _, m := range modules {
		licence, found := known[m.path]
		if !found {
			return fmt.Errorf("third_party/licenses.txt has no line for %s: read its licence and add one", m.path)
		}
		bill.Components = append(bill.Components, component{Type: "library", Name: m.path, Version: m.version,
			PURL: "pkg:golang/" + m.path + "@" + m.version, Licenses: expression(licence.spdx)})
		files, err := licenceFiles(m.folder, "LICENSE", "COPYING", "NOTICE", "PATENTS")
		if err != nil {
			return err
		}
		for _, file := range files {
			name := strings.NewReplacer("/", "_", "~", "").Replace(m.path) + "-" + filepath.Base(file)
			if err := copyFile(file, filepath.Join(into, name)); err != nil {
				return err
			}
		}
	}
	packages := pinned(string(requirements))
	if len(packages) == 0 {
		return fmt.Errorf("third_party/requirements.txt pins no package")
	}
	bill.Components = append(bill.Components, packages...)
	texts, err := filepath.Glob(filepath.Join(libtorch, "licenses", "*"))
	if err != nil || len(texts) == 0 {
		return fmt.Errorf("%s has no licenses: a release is made from the libtorch that build.sh fetches", libtorch)
	}
	for _, text := range append(texts, "LICENSE") {
		if err := copyFile(text, filepath.Join(into, filepath.Base(text))); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(bill, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "sbom.cdx.json"), append(text, '\n'), 0o644)
}

type module struct{ path, version, folder string }

// builtFrom lists the modules of the programs in a folder, as they state them, and the version of Go.
func builtFrom(bin string) (modules []module, toolchain string, err error) {
	programs, err := os.ReadDir(bin)
	if err != nil {
		return nil, "", err
	}
	for _, p := range programs {
		info, err := buildinfo.ReadFile(filepath.Join(bin, p.Name()))
		if err != nil {
			return nil, "", err
		}
		toolchain = info.GoVersion
		for _, d := range info.Deps {
			if d.Replace != nil {
				d = d.Replace
			}
			modules = append(modules, module{path: d.Path, version: d.Version})
		}
	}
	slices.SortFunc(modules, func(a, b module) int { return strings.Compare(a.path, b.path) })
	modules = slices.Compact(modules)
	for i, m := range modules {
		out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", m.path).Output()
		if modules[i].folder = strings.TrimSpace(string(out)); err != nil || modules[i].folder == "" {
			return nil, "", fmt.Errorf("go list knows no folder of %s: run `go mod download`", m.path)
		}
	}
	return modules, toolchain, nil
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}
