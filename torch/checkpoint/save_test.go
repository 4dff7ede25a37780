package checkpoint

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// content makes a File with the given text.
func content(name, text string) File {
	return File{Name: name, Write: func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}}
}

// state gives the files of a small checkpoint that differs from generation to generation.
func state(generation string) []File {
	return []File{
		content("model.safetensors", strings.Repeat("weights "+generation+" ", 1000)),
		content("state.json", `{"generation": "`+generation+`"}`),
	}
}

func save(t *testing.T, s Store, step int, generation string) {
	t.Helper()
	if err := s.Save(step, state(generation), map[string]string{"model.width": "of " + generation}); err != nil {
		t.Fatal(err)
	}
}

// read returns the content of a file of a checkpoint.
func read(t *testing.T, c Checkpoint, name string) string {
	t.Helper()
	file, err := c.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func names(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, entry := range entries {
		found = append(found, entry.Name())
	}
	return found
}

func TestSavedIsRead(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "run", "checkpoints")}
	save(t, s, 9, "a")
	save(t, s, 10, "b") // 10 is newer than 9, though not in the order of letters
	latest, warnings, err := s.Latest()
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	if latest.Step != 10 || latest.Name() != "step-10" || latest.Keys["model.width"] != "of b" {
		t.Fatalf("latest is %+v", latest)
	}
	if got := read(t, latest, "state.json"); got != `{"generation": "b"}` {
		t.Fatalf("state.json holds %s", got)
	}
	if !latest.Has("model.safetensors") || latest.Has("average.safetensors") {
		t.Fatal("Has does not tell the files apart")
	}
	if _, err := latest.Open("average.safetensors"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a file that was not saved opens with %v", err)
	}
	if _, err := latest.Open("../step-9/state.json"); err == nil {
		t.Fatal("a file outside the checkpoint was opened")
	}
	text, err := os.ReadFile(filepath.Join(s.Dir, "LATEST"))
	if err != nil || string(text) != "step-10\n" {
		t.Fatalf("LATEST holds %q, %v", text, err)
	}
	want := []string{"LATEST", "step-10", "step-9"}
	if diff := cmp.Diff(want, names(t, s.Dir)); diff != "" {
		t.Fatal(diff)
	}
}

func TestManifestListsSizesAndDigests(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	if err := s.Save(3, []File{content("a", "abc"), content("empty", "")}, map[string]string{"model.width": "4"}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(s.Dir, "step-3", "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	delete(got, "digest")
	want := map[string]any{
		"format": 2.0, "step": 3.0, "keys": map[string]any{"model.width": "4"},
		"config": "c08e77f72440d28ffe0e2d78d5195b60a182e1d24c3924059211e09494c3a502",
		"files": []any{
			map[string]any{"name": "a", "size": 3.0,
				"sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
			map[string]any{"name": "empty", "size": 0.0,
				"sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestPruningKeepsTheNewestAndTheBest(t *testing.T) {
	s := Store{Dir: t.TempDir(), Keep: 2}
	save(t, s, 100, "a")
	if err := s.MarkBest(100); err != nil {
		t.Fatal(err)
	}
	for _, step := range []int{200, 300, 400} {
		save(t, s, step, "b")
	}
	if diff := cmp.Diff([]string{"BEST", "LATEST", "step-100", "step-300", "step-400"}, names(t, s.Dir)); diff != "" {
		t.Fatal(diff)
	}
	best, warnings, err := s.Best()
	if err != nil || len(warnings) > 0 || best.Step != 100 {
		t.Fatal(best, warnings, err)
	}
	if err := s.MarkBest(400); err != nil {
		t.Fatal(err)
	}
	save(t, s, 500, "c")
	if diff := cmp.Diff([]string{"BEST", "LATEST", "step-400", "step-500"}, names(t, s.Dir)); diff != "" {
		t.Fatal(diff)
	}
	// With a BEST that cannot be read, any of them may be the best.
	if err := os.WriteFile(filepath.Join(s.Dir, "BEST"), []byte("\x00\x00"), 0o644); err != nil {
		t.Fatal(err)
	}
	save(t, s, 600, "d")
	if steps, _ := s.Steps(); !slices.Equal(steps, []int{600, 500, 400}) {
		t.Fatalf("steps %v", steps)
	}
}

// A checkpoint that passes takes no other one's place, lasts until the next save, and longer only as the best.
func TestPruningRemovesWhatPasses(t *testing.T) {
	s := Store{Dir: t.TempDir(), Keep: 2, Passing: func(step int) bool { return step%10 != 0 }}
	for _, c := range []struct {
		step int
		want []int
	}{
		{10, []int{10}}, {20, []int{20, 10}}, {21, []int{21, 20}}, {22, []int{22, 20}}, {30, []int{30, 20}},
		{31, []int{31, 30}},
	} {
		save(t, s, c.step, "a")
		if steps, err := s.Steps(); err != nil || !slices.Equal(steps, c.want) {
			t.Fatalf("after step %d: %v, %v, want %v", c.step, steps, err, c.want)
		}
	}
	if err := s.MarkBest(31); err != nil {
		t.Fatal(err)
	}
	for _, step := range []int{40, 50, 60} {
		save(t, s, step, "b")
	}
	if steps, err := s.Steps(); err != nil || !slices.Equal(steps, []int{60, 50, 31}) {
		t.Fatalf("steps %v, %v", steps, err)
	}
}

func TestSameStepIsReplaced(t *testing.T) {
	s := Store{Dir: t.TempDir(), Keep: 1}
	save(t, s, 5, "old")
	save(t, s, 5, "new")
	latest, warnings, err := s.Latest()
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	if got := read(t, latest, "state.json"); !strings.Contains(got, "new") {
		t.Fatalf("state.json holds %s", got)
	}
	if diff := cmp.Diff([]string{"LATEST", "step-5"}, names(t, s.Dir)); diff != "" {
		t.Fatal(diff)
	}
}

// The order is the contract: nothing gets a name that a reader trusts before its content is on disk.
func TestOrderOfASave(t *testing.T) {
	s := Store{Dir: t.TempDir(), Keep: 1}
	save(t, s, 1, "a")
	points := watch(t, func() { save(t, s, 2, "b") })
	want := []string{
		"begin", "file-created", "file-written", "file-synced", "file-created", "file-written", "file-synced",
		"files-synced", "manifest-synced", "folder-synced", "renamed", "parent-synced",
		"LATEST-written", "LATEST-renamed", "prune-renamed", "pruned",
	}
	if diff := cmp.Diff(want, points); diff != "" {
		t.Fatal(diff)
	}
}

// watch returns the points of the save sequence that work reaches.
func watch(t *testing.T, work func()) []string {
	t.Helper()
	var points []string
	before := observe
	observe = func(point string) { points = append(points, point) }
	defer func() { observe = before }()
	work()
	return points
}

func TestBadArgumentsAreRefused(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	for name, files := range map[string][]File{
		"no files":         nil,
		"a path":           {content("../escape", "")},
		"the manifest":     {content("manifest.json", "")},
		"the same twice":   {content("a", ""), content("a", "")},
		"the folder":       {content(".", "")},
		"the empty string": {content("", "")},
	} {
		if err := s.Save(1, files, nil); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if err := s.Save(-1, state("a"), nil); err == nil {
		t.Error("a negative step was accepted")
	}
	if err := s.MarkBest(7); err == nil {
		t.Error("a checkpoint that does not exist became the best")
	}
	if found := names(t, s.Dir); len(found) > 0 {
		t.Errorf("refused saves left %v", found)
	}
}
