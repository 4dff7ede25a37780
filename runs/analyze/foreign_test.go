package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/torch"
)

// TestForeignCheckpoint: a matrix of a checkpoint in shards, its rows named by a vocabulary, and written for other
// programs.
func TestForeignCheckpoint(t *testing.T) {
	torch.Test(t, func() {
		folder, out := t.TempDir(), t.TempDir()
		write := func(name, text string) string {
			t.Helper()
			path := filepath.Join(folder, name)
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			return path
		}
		// The published example in bfloat16, with a row that only fills it up, in the second of two shards, of which
		// the first is missing.
		w := torch.FromFloat32s([]float32{1, 2, 3, -1, -2, 0.5, 0, 0}, torch.CPU, 4, 2).To(torch.BFloat16, torch.CPU)
		if err := os.Rename(file(t, map[string]torch.Tensor{"embed": w}),
			filepath.Join(folder, "two.safetensors")); err != nil {
			t.Fatal(err)
		}
		write("model.safetensors.index.json", `{"weight_map": {"embed": "two.safetensors", "head": "one.safetensors"}}`)
		txt, full := write("vocab.txt", "the\r\nof\nto\n"), write("full.txt", "the\nof\nto\n[PAD]\n")
		mapped := write("vocab.json", `{"to": 2, "the": 0, "o\tf": 1}`)
		vec, projector := filepath.Join(out, "w.vec"), filepath.Join(out, "projector")
		for _, vocabulary := range []string{txt, mapped} {
			os.Remove(vec)
			got := measured(t, folder, "-tensor", "embed", "-vocab", vocabulary, "-named-only", "-vec", vec,
				"-projector", projector)
			if x := got["i1"].(float64); math.Abs(x-0.419344) > 1e-6 || got["vocabulary"] != 3.0 ||
				got["hub"] != "the" && got["hub"] != "of" && got["hub"] != "to" && got["hub"] != "o\tf" {
				t.Errorf("%v of %v words, the hub is %v", x, got["vocabulary"], got["hub"])
			}
			if m := got["margins"].([]any); len(m) != 3 || m[0].(map[string]any)["word"] != "the" ||
				got["states"] != nil {
				t.Errorf("margins %v, states %v", m, got["states"])
			}
		}
		for name, want := range map[string]string{
			vec:                                      "3 2\nthe 1 2\no\\tf 3 -1\nto -2 0.5\n",
			filepath.Join(projector, "tensors.tsv"):  "1\t2\n3\t-1\n-2\t0.5\n",
			filepath.Join(projector, "metadata.tsv"): "word\tcount\trank\tnorm\nthe\t?\t1\t2.2361\no\\tf\t?\t2\t3.1623\nto\t?\t3\t2.0616\n",
			filepath.Join(projector, "projector_config.pbtxt"): "embeddings {\n  tensor_name: \"" +
				filepath.Base(folder) + ":embed\"\n  tensor_path: \"tensors.tsv\"\n  tensor_shape: 3\n  " +
				"tensor_shape: 2\n  metadata_path: \"metadata.tsv\"\n}\n",
		} {
			text, err := os.ReadFile(name)
			if diff := cmp.Diff(want, string(text)); diff != "" || err != nil {
				t.Errorf("%s: %v\n%s", name, err, diff)
			}
		}
		if got := measured(t, vec); got["frobenius"].(float64) != math.Sqrt(19.25) {
			t.Errorf("what -vec wrote has the norm %v", got["frobenius"])
		}
		unnamed := filepath.Join(out, "unnamed.vec")
		measured(t, filepath.Join(folder, "two.safetensors"), "-vec", unnamed)
		if text, err := os.ReadFile(unnamed); err != nil || !strings.HasPrefix(string(text), "4 2\nrow_0 1 2\n") {
			t.Errorf("rows without names: %q, %v", text, err)
		}
		if got := measured(t, filepath.Join(folder, "two.safetensors"), "-vocab", full); got["vocabulary"] != 4.0 {
			t.Errorf("there are %v rows", got["vocabulary"])
		}
		bad := filepath.Join(folder, "bad")
		if err := os.Mkdir(bad, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file(t, map[string]torch.Tensor{"w": torch.Full(math.NaN(), torch.Float32, torch.CPU, 3,
			2)}), filepath.Join(bad, "w.safetensors")); err != nil {
			t.Fatal(err)
		}
		for says, args := range map[string][]string{
			"names 3 of the 4 rows":           {folder, "-tensor=embed", "-vocab", txt},
			"is in the shard one.safetensors": {folder, "-tensor=head"},
			"names the shard one.safetensors": {folder},
			"has no tensor nothing":           {folder, "-tensor=nothing"},
			"names row 4": {folder, "-tensor=embed", "-vocab",
				write("long.txt", "a\nb\nc\nd\ne\n")},
			"twice.txt:3: \"a\" stands on line 1": {folder, "-tensor=embed", "-vocab",
				write("twice.txt", "a\nb\na\nd\n")},
			"empty.txt:2: the line is empty": {folder, "-tensor=embed", "-vocab",
				write("empty.txt", "a\n\nb\nd\n")},
			"\"a\" and \"b\" have the same row, 0": {folder, "-tensor=embed", "-vocab",
				write("same.json", `{"a": 0, "b": 0}`)},
			"has the word \"a\" twice": {folder, "-tensor=embed", "-vocab",
				write("again.json", `{"a": 0, "a": 1}`)},
			"the row of \"b\" is -1": {folder, "-tensor=embed", "-vocab",
				write("negative.json", `{"a": 0, "b": -1}`)},
			"is 1.5, which is no whole number": {folder, "-tensor=embed", "-vocab",
				write("half.json", `{"a": 0, "b": 1.5}`)},
			"no JSON object": {folder, "-tensor=embed", "-vocab",
				write("list.json", `["a"]`)},
			"cut off at byte 7": {folder, "-tensor=embed", "-vocab",
				write("cut.json", `{"a": 0`)},
			"a number that is not finite, NaN in row 0 (the)": {bad, "-vocab", txt},
			"is a run, whose output matrix":                   {"-run", folder, "-vocab", txt},
			"-vec writes one matrix":                          {folder, folder, "-tensor=embed", "-vec", vec},
			"exists already":                                  {vec, "-vec", vec},
			"-named-only goes with -vocab":                    {folder, "-named-only"},
			"names its matrix itself": {filepath.Join(folder, "two.safetensors") + ":embed",
				"-tensor=embed"},
			"-states=-1: it wants": {folder, "-states=-1"},
		} {
			if _, _, err := analyzed(t, args...); err == nil || !strings.Contains(err.Error(), says) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: %v does not say %q", args, err, says)
			}
		}
		// Two matrices have files of their own.
		if _, _, err := analyzed(t, vec, filepath.Join(folder, "two.safetensors"), "-json", "-projector",
			projector); err != nil {
			t.Fatal(err)
		}
		found, _ := filepath.Glob(filepath.Join(projector, "[12]-*.tsv"))
		if text, err := os.ReadFile(filepath.Join(projector, "projector_config.pbtxt")); err != nil ||
			strings.Count(string(text), "embeddings {") != 2 || len(found) != 4 {
			t.Errorf("%v, %v: %s", err, found, text)
		}
	})
}
