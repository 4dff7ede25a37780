package main

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/torch"
)

// TestRefusals: bad input is reported in one sentence that says what would do.
func TestRefusals(t *testing.T) {
	torch.Test(t, func() {
		folder := t.TempDir()
		w := torch.Full(1, torch.Float32, torch.CPU, 3, 2)
		bad := torch.FromFloat32s([]float32{1, 2, 3, float32(math.NaN()), 5, 6}, torch.CPU, 3, 2)
		path := file(t, map[string]torch.Tensor{"a": w, "b": w, "bad": bad,
			"bias": torch.Full(1, torch.Float32, torch.CPU, 3)})
		broken := filepath.Join(folder, "broken.safetensors")
		if err := os.WriteFile(broken, []byte("none"), 0o644); err != nil {
			t.Fatal(err)
		}
		empty := file(t, map[string]torch.Tensor{"w": torch.Zeros(torch.Float32, torch.CPU, 0, 3)})
		ragged := filepath.Join(folder, "ragged.vec")
		if err := os.WriteFile(ragged, []byte("hund 1 2\nkatze 3\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		unfinished := filepath.Join(folder, "unfinished")
		runFolderOf(t, unfinished, "mle")
		if err := os.RemoveAll(filepath.Join(unfinished, experiment.CheckpointsDir)); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			args  []string
			usage bool
			says  []string
		}{
			{nil, true, []string{"-run", "-vectors"}},
			{[]string{"somewhere"}, true, []string{"somewhere", "-run"}},
			{[]string{"-run", folder, "-rows=1"}, true, []string{"-rows"}},
			{[]string{"-run", folder, "-normalise"}, true, []string{"-normalise", "one is named"}},
			{[]string{"-vectors", path, "-states=5"}, true, []string{"-states", "is a file"}},
			{[]string{"-run", folder, "-samples=0"}, true, []string{"-samples"}},
			{[]string{"-run", folder, "-samples=3"}, true, []string{"-samples goes with -rows"}},
			{[]string{"-run", folder, "-threads=-2"}, true, []string{"-threads"}},
			{[]string{"-runs", folder}, true, []string{"runs"}},
			{[]string{"-vectors", "vectors.csv"}, true, []string{"vectors.csv", ".safetensors", ".vec"}},
			{[]string{"-run", folder}, false, []string{folder, "holds no run"}},
			{[]string{"-run", unfinished}, false, []string{unfinished, "no valid checkpoint"}},
			{[]string{"-run", filepath.Join(folder, "nowhere")}, false, []string{"there is no folder", "nowhere"}},
			{[]string{"-vectors", filepath.Join(folder, "nothing.safetensors")}, false,
				[]string{"nothing.safetensors", "no such file"}},
			{[]string{"-vectors", broken}, false, []string{"broken.safetensors", "no valid safetensors file"}},
			{[]string{"-vectors", path}, false, []string{"a [3 2]", "b [3 2]", "bad [3 2]", path + ":a"}},
			{[]string{"-vectors", path + ":c"}, false, []string{"no tensor c", "a [3 2]", "b [3 2]"}},
			{[]string{"-vectors", path + ":bias"}, false, []string{"bias", "[3]", "a [3 2]"}},
			{[]string{"-vectors", path + ":bad"}, false, []string{"bad", "NaN", "row 1"}},
			{[]string{"-vectors", empty}, false, []string{"empty"}},
			{[]string{"-vectors", ragged}, false, []string{"ragged.vec:2:", "2 numbers"}},
			{[]string{"-vectors", ragged + ":w"}, true, []string{"ragged.vec:w"}},
		} {
			_, _, err := analyzed(t, test.args...)
			if err == nil {
				t.Errorf("%q is accepted", test.args)
				continue
			}
			var usage *command.UsageError
			if errors.As(err, &usage) != test.usage || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: %v", test.args, err)
			}
			for _, part := range test.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q: %q does not say %q", test.args, err, part)
				}
			}
		}
		if out, _, err := analyzed(t, "-h"); !errors.Is(err, command.ErrHelp) || !strings.Contains(out, "-normalise") {
			t.Errorf("help is %q, %v", out, err)
		}
	})
}

// TestStrangersConfiguration: what a run folder says of its texts comes to the log, and no terminal obeys it.
func TestStrangersConfiguration(t *testing.T) {
	torch.Test(t, func() {
		folder := filepath.Join(t.TempDir(), "run")
		runFolderOf(t, folder, "mle")
		path := filepath.Join(folder, experiment.ConfigFile)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text = bytes.Replace(text, []byte("\ndir = \"\""), []byte("\ndir = \"\\u001b[2Jelsewhere\""), 1)
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		_, log, err := analyzed(t, "-run", folder)
		if err != nil || !strings.Contains(log, "\uFFFD[2Jelsewhere") || strings.Contains(log, "\x1b") {
			t.Errorf("the log is %q, %v", log, err)
		}
	})
}

// TestNamesWithoutFlags: what is named without a flag is what it is found to be, in any order; after -run it is a run.
func TestNamesWithoutFlags(t *testing.T) {
	place := t.TempDir()
	run, vectors := filepath.Join(place, "run"), filepath.Join(place, "words.vec")
	if err := os.Mkdir(run, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(run, experiment.ConfigFile), vectors} {
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ args, runs, vectors []string }{
		{[]string{run, vectors, run}, []string{run, run}, []string{vectors}},
		{[]string{vectors, run}, []string{run}, []string{vectors}},
		{[]string{"-run", run, vectors}, []string{run, vectors}, nil},
		{[]string{"-run", run, "-vectors", vectors, vectors}, []string{run}, []string{vectors, vectors}},
	} {
		f, err := parse(test.args, os.Stderr)
		if err != nil || !slices.Equal(f.Runs, test.runs) || !slices.Equal(f.Vectors, test.vectors) {
			t.Errorf("%q names %+v, %v", test.args, f, err)
		}
	}
}

func TestShortNames(t *testing.T) {
	for want, paths := range map[string][]string{
		"a b":               {"x/a", "x/b/"},
		"mle/s1 adv/s1 q/x": {"e/mle/s1", "e/adv/s1", "e/q/x"},
		"a a":               {"a", "a"},
	} {
		if got := strings.Join(shortNames(paths), " "); got != want {
			t.Errorf("%v are called %q", paths, got)
		}
	}
}

// TestTableIsAsWideAsAScreen: many matrices take several blocks.
func TestTableIsAsWideAsAScreen(t *testing.T) {
	var all []*analysis
	for _, name := range []string{"mle-sample-seed1", "spectrum+adversarial-sample-seed1", strings.Repeat("long", 40),
		"d", "e", "f", "g"} {
		all = append(all, &analysis{Name: name, Vocabulary: 267735, Width: 1024, Samples: 1, IsotropyRows: 267735,
			Scale: 1})
	}
	var out bytes.Buffer
	printTable(&out, all)
	for line := range strings.Lines(out.String()) {
		if len(strings.TrimRight(line, "\n")) > widest {
			t.Errorf("a line is too long: %q", line)
		}
	}
	if n := strings.Count(out.String(), "267735 x 1024"); n != len(all) {
		t.Errorf("%d of %d matrices are in the table:\n%s", n, len(all), &out)
	}
}
