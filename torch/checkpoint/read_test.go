package checkpoint

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// edit replaces the content of a file in the store.
func edit(t *testing.T, s Store, name string, change func([]byte) []byte) {
	t.Helper()
	path := filepath.Join(s.Dir, name)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, s Store, name string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(s.Dir, name)); err != nil {
		t.Fatal(err)
	}
}

func flip(text []byte) []byte {
	text[len(text)/2] ^= 4
	return text
}

func cut(text []byte) []byte { return text[:len(text)-1] }

// finds are the ways to find a checkpoint in a store.
func finds(s Store) []func() (Checkpoint, []Warning, error) {
	return []func() (Checkpoint, []Warning, error){
		s.Latest,
		func() (Checkpoint, []Warning, error) { return s.Best() },
		func() (Checkpoint, []Warning, error) { return s.Best("model.safetensors") },
	}
}

func TestDamageIsNamedAndSkipped(t *testing.T) {
	for name, test := range map[string]struct {
		damage func(t *testing.T, s Store)
		want   string // what the warnings say, beginning with the name of the file
	}{
		"a flipped bit": {func(t *testing.T, s Store) { edit(t, s, "step-2/model.safetensors", flip) },
			"step-2/model.safetensors does not match its sha256"},
		"a cut file": {func(t *testing.T, s Store) { edit(t, s, "step-2/model.safetensors", cut) },
			"step-2/model.safetensors is cut off: 9999 of 10000 bytes"},
		"an empty file": {func(t *testing.T, s Store) {
			edit(t, s, "step-2/state.json",
				func([]byte) []byte { return nil })
		}, "step-2/state.json is cut off: 0 of 19 bytes"},
		"a longer file": {func(t *testing.T, s Store) {
			edit(t, s, "step-2/state.json", func(b []byte) []byte { return append(b, '\n') })
		}, "step-2/state.json has 20 bytes where the manifest says 19"},
		"a missing file": {func(t *testing.T, s Store) { remove(t, s, "step-2/state.json") },
			"step-2/state.json is missing"},
		"no manifest": {func(t *testing.T, s Store) { remove(t, s, "step-2/manifest.json") },
			"step-2/manifest.json is missing"},
		"a cut manifest": {func(t *testing.T, s Store) {
			edit(t, s, "step-2/manifest.json", func(b []byte) []byte { return b[:40] })
		}, "step-2/manifest.json is not valid JSON"},
		"another key": {func(t *testing.T,
			s Store) {
			edit(t, s, "step-2/manifest.json", swap(`"of b"`, `"of c"`))
		},
			"step-2/manifest.json does not match its own digest"},
		"a newer format": {func(t *testing.T,
			s Store) {
			edit(t, s, "step-2/manifest.json", swap(`"format": 2`, `"format": 3`))
		},
			"step-2/manifest.json has format 3 and this version of Aperture reads up to 2"},
		"an unknown key": {func(t *testing.T,
			s Store) {
			edit(t, s, "step-2/manifest.json", swap(`"config"`, `"konfig"`))
		},
			"step-2/manifest.json does not have the expected form"},
		"a moved folder": {move("step-2", "step-3"), "step-3/manifest.json belongs to step-2"},
		"an empty folder": {func(t *testing.T, s Store) {
			remove(t, s, "step-2")
			os.Mkdir(filepath.Join(s.Dir, "step-2"), 0o755)
		}, "step-2/manifest.json is missing"},
		"a file as folder": {func(t *testing.T, s Store) {
			remove(t, s, "step-2")
			os.WriteFile(filepath.Join(s.Dir, "step-2"), nil, 0o644)
		}, "step-2/manifest.json cannot be read"},
		"a removed folder": {func(t *testing.T, s Store) { remove(t, s, "step-2") },
			"LATEST names step-2, which is missing or damaged, so step-1"},
		"a folder as a file": {func(t *testing.T, s Store) {
			remove(t, s, "step-2/state.json")
			os.Mkdir(filepath.Join(s.Dir, "step-2/state.json"), 0o755)
		}, "step-2/state.json "},
	} {
		t.Run(name, func(t *testing.T) {
			s := Store{Dir: t.TempDir()}
			save(t, s, 1, "a")
			save(t, s, 2, "b")
			if err := s.MarkBest(2); err != nil {
				t.Fatal(err)
			}
			test.damage(t, s)
			for _, find := range finds(s) {
				found, warnings, err := find()
				if err != nil {
					t.Fatal(err)
				}
				if found.Step != 1 || !strings.Contains(read(t, found, "state.json"), `"a"`) {
					t.Errorf("found %s", found.Name())
				}
				if said := sentences(warnings); !strings.Contains(said, strings.Replace(test.want, "LATEST", "", 1)) {
					t.Errorf("said %q, want %q", said, test.want)
				}
			}
		})
	}
}

func swap(from, to string) func([]byte) []byte {
	return func(text []byte) []byte { return bytes.Replace(text, []byte(from), []byte(to), 1) }
}

func move(from, to string) func(t *testing.T, s Store) {
	return func(t *testing.T, s Store) {
		if err := os.Rename(filepath.Join(s.Dir, from), filepath.Join(s.Dir, to)); err != nil {
			t.Fatal(err)
		}
	}
}

func sentences(warnings []Warning) string {
	var all []string
	for _, warning := range warnings {
		all = append(all, warning.String())
	}
	return strings.Join(all, "\n")
}

// Every single flipped bit of a manifest is either noticed or without meaning.
func TestEveryBitOfTheManifestIsGuarded(t *testing.T) {
	s := Store{Dir: fixtures.InMemory(t)}
	save(t, s, 2, "b")
	before, err := s.At(2)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.Dir, "step-2", "manifest.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	noticed := 0
	for bit := range len(text) * 8 {
		changed := bytes.Clone(text)
		changed[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(path, changed, 0o644); err != nil {
			t.Fatal(err)
		}
		after, err := s.At(2)
		if err != nil {
			noticed++
		} else if !maps.Equal(after.Keys, before.Keys) || len(after.files) != len(before.files) {
			t.Errorf("bit %d turned the checkpoint into %+v unnoticed", bit, after)
		}
	}
	if noticed < len(text)*5 {
		t.Errorf("only %d of %d flipped bits were noticed", noticed, len(text)*8)
	}
}

func TestNoValidCheckpointSaysWhatWasFound(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "checkpoints")}
	if _, _, err := s.Latest(); !errors.Is(err, ErrNone) {
		t.Fatalf("a store that does not exist gives %v", err)
	}
	save(t, s, 1, "a")
	edit(t, s, "step-1/model.safetensors", flip)
	for _, find := range finds(s) {
		_, _, err := find()
		if !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "step-1/model.safetensors does not match") {
			t.Fatalf("the error is %v", err)
		}
	}
}

// A reader of weights does without the content of moments, which are twice as large, and needs no other checkpoint
// where they are damaged.
func TestBestOfOneFile(t *testing.T) {
	for name, test := range map[string]struct {
		file  string
		edit  func([]byte) []byte
		first []string
		want  int
		says  string
	}{
		"another file":             {"state.json", flip, []string{"model.safetensors"}, 2, ""},
		"another file that is cut": {"state.json", cut, []string{"model.safetensors"}, 1, "step-2/state.json is cut off"},
		"that file": {"model.safetensors", flip, []string{"average.safetensors", "model.safetensors"}, 1,
			"step-2/model.safetensors does not match"},
		"the first of two": {"model.safetensors", flip, []string{"state.json", "model.safetensors"}, 2, ""},
		"no such file":     {"state.json", flip, []string{"average.safetensors"}, 1, "step-2/state.json does not match"},
		"no names":         {"state.json", flip, nil, 1, "step-2/state.json does not match"},
	} {
		s := Store{Dir: t.TempDir()}
		save(t, s, 1, "a")
		save(t, s, 2, "b")
		if err := s.MarkBest(2); err != nil {
			t.Fatal(err)
		}
		edit(t, s, "step-2/"+test.file, test.edit)
		found, warnings, err := s.Best(test.first...)
		if err != nil || found.Step != test.want {
			t.Errorf("%s: step %d (%v)", name, found.Step, err)
		}
		if said := sentences(warnings); !strings.HasPrefix(said, test.says) || test.says == "" && said != "" {
			t.Errorf("%s: said %q, want %q", name, said, test.says)
		}
	}
}

func TestPointersAreNotTrusted(t *testing.T) {
	for name, test := range map[string]struct{ latest, want string }{
		"older":   {"step-1\n", "LATEST names step-1, which is older, so step-2, the newest valid one, is used"},
		"absent":  {"", "LATEST is not there, so step-2, the newest valid one, is used"},
		"garbage": {"\x00\x00\x00", `LATEST holds "\x00\x00\x00" where step-N is expected, so step-2`},
		"outside": {"../step-1", `LATEST holds "../step-1" where step-N is expected`},
		"zeros":   {"step-02", `LATEST holds "step-02" where step-N is expected`},
	} {
		t.Run(name, func(t *testing.T) {
			s := Store{Dir: t.TempDir()}
			save(t, s, 1, "a")
			save(t, s, 2, "b")
			if test.latest == "" {
				remove(t, s, "LATEST")
			} else {
				edit(t, s, "LATEST", func([]byte) []byte { return []byte(test.latest) })
			}
			found, warnings, err := s.Latest()
			if err != nil || found.Step != 2 {
				t.Fatal(found, err)
			}
			if said := sentences(warnings); !strings.HasPrefix(said, test.want) {
				t.Errorf("said %q, want %q", said, test.want)
			}
		})
	}
}

// testdata/format-1 was written by the first version of Save and is never written
// again: every later version must read it.
func TestFirstFormatIsStillRead(t *testing.T) {
	s := Store{Dir: filepath.Join("testdata", "format-1")}
	for _, find := range finds(s) {
		found, warnings, err := find()
		if err != nil || len(warnings) > 0 {
			t.Fatal(warnings, err)
		}
		if found.Step != 7 || found.Keys != nil {
			t.Errorf("found %+v", found)
		}
		if got := read(t, found, "state.json"); got != "{\"update\": 7}\n" {
			t.Errorf("state.json holds %q", got)
		}
		if got := read(t, found, "model.safetensors"); len(got) != 72 || got[64:] != "\x00\x00\x80?\x00\x00\x00@" {
			t.Errorf("model.safetensors holds %q", got)
		}
	}
}

// What a checkpoint keeps of the configuration is read without its other files, from the newest whole manifest.
func TestKeys(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	is := func(want map[string]string) {
		t.Helper()
		if keys, err := s.Keys(); err != nil || !maps.Equal(keys, want) {
			t.Errorf("kept are %v, %v, want %v", keys, err, want)
		}
	}
	is(nil)
	save(t, s, 1, "a")
	save(t, s, 2, "b")
	remove(t, s, "step-2/model.safetensors")
	is(map[string]string{"model.width": "of b"})
	edit(t, s, "step-2/manifest.json", swap("of b", "of c"))
	is(map[string]string{"model.width": "of a"})
	s.Dir = filepath.Join("testdata", "format-1")
	is(nil)
}
