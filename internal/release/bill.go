package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// bill is the part of CycloneDX 1.5 that is used here.
type bill struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type     string    `json:"type"`
	Name     string    `json:"name"`
	Version  string    `json:"version"`
	PURL     string    `json:"purl,omitempty"`
	Hashes   []hash    `json:"hashes,omitempty"`
	Licenses []license `json:"licenses,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type license struct {
	Expression string `json:"expression"`
}

func newBill(version string) bill {
	return bill{Format: "CycloneDX", Spec: "1.5", Version: 1, Metadata: metadata{component{Type: "application",
		Name: "aperture", Version: version, Licenses: expression("Apache-2.0")}}}
}

func expression(spdx string) []license { return []license{{spdx}} }

// pinned are the packages of a file of requirements. Of what else is in torch's package its own licence file speaks.
func pinned(requirements string) (all []component) {
	licences := map[string]string{"torch": "BSD-3-Clause"}
	line := regexp.MustCompile(`(?m)^(\S+)==(\S+) --hash=sha256:(\w{64})$`)
	for _, m := range line.FindAllStringSubmatch(requirements, -1) {
		spdx, found := licences[m[1]]
		if !found {
			spdx = "LicenseRef-NVIDIA-CUDA-EULA"
		}
		all = append(all, component{Type: "library", Name: m[1], Version: m[2], PURL: "pkg:pypi/" + m[1] + "@" + m[2],
			Hashes: []hash{{"SHA-256", m[3]}}, Licenses: expression(spdx)})
	}
	return all
}

// licence is a line of third_party/licenses.txt.
type licence struct{ digest, spdx string }

func readLicences(path string) (map[string]licence, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all := map[string]licence{}
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.SplitN(line, " ", 3)
		if len(fields) != 3 {
			return nil, fmt.Errorf("%s:%d: a line has a module, a digest and a licence", path, i+1)
		}
		all[fields[0]] = licence{fields[1], fields[2]}
	}
	return all, nil
}

// licenceFiles are the files of a module whose names begin so, in any case, by name.
func licenceFiles(folder string, beginnings ...string) (files []string, err error) {
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		begins := func(with string) bool { return strings.HasPrefix(name, with) }
		if e.Type().IsRegular() && slices.ContainsFunc(beginnings, begins) {
			files = append(files, filepath.Join(folder, e.Name()))
		}
	}
	slices.Sort(files)
	return files, err
}
