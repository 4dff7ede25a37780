package checkpoint

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// FuzzManifest gives a checkpoint and the files that name it any content, with the right digest: the newest valid one
// is found or refused, and nothing outside of its folder is read.
func FuzzManifest(f *testing.F) {
	folder := f.TempDir()
	s := Store{Dir: filepath.Join(folder, "checkpoints")}
	if err := s.Save(1, state("1"), map[string]string{"model.width": "4"}); err != nil {
		f.Fatal(err)
	}
	path := filepath.Join(s.path(folderName(1)), manifestName)
	good, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(good), "step-1\n")
	outside := strings.ReplaceAll(string(good), `"state.json"`, `"../../secret"`)
	long := strings.Repeat("x", 5000)
	for _, text := range []string{"", "{}", "null", "[]", outside, `{"format":1,"` + long + `":1,"step":""}`,
		strings.ReplaceAll(string(good), `"state.json"`, `"`+long+`"`),
		strings.ReplaceAll(string(good), `"state.json"`, `"/dev/zero"`),
		strings.ReplaceAll(string(good), `"state.json"`, `"\u001b[2J\n"`), `{"format":99}`, `{"format":"\u001b"}`,
		`{"format":1,"step":1,"files":null}`, `{"format":2,"step":1,"files":[{"name":"","size":-1}]}`} {
		for _, pointer := range []string{"step-1", "step-99999999999999999999", "step--1", "../x", "\x1b[2J\n\xff", ""} {
			f.Add(text, pointer)
		}
	}
	fixtures.Put(f, folder, "secret", "secret")
	f.Fuzz(func(t *testing.T, text, pointer string) {
		if m, ok := decodeManifest(text); ok { // whatever it says, under its digest
			sealed, err := m.encode()
			if err != nil {
				return
			}
			text = string(sealed)
		}
		fixtures.Put(t, s.path(folderName(1)), manifestName, text)
		fixtures.Put(t, s.Dir, latestName, pointer)
		fixtures.Put(t, s.Dir, bestName, pointer)
		for _, find := range finds(s) {
			var found Checkpoint
			var warnings []Warning
			err := fixtures.Promise(t, 2*(len(text)+len(pointer)), func() (err error) { found, warnings, err = find(); return err })
			for _, w := range warnings {
				fixtures.Sentence(t, w.String())
			}
			if err != nil {
				continue
			}
			for _, file := range found.files {
				if !filepath.IsLocal(file.Name) || strings.Contains(file.Name, "/") {
					t.Errorf("the checkpoint holds %q", file.Name)
				}
			}
		}
	})
}

func decodeManifest(text string) (m manifest, ok bool) {
	return m, json.Unmarshal([]byte(text), &m) == nil
}
