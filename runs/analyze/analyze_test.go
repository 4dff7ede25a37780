package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/runs/internal/sample"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// analyzed runs the command and returns what it printed.
func analyzed(t *testing.T, args ...string) (out, log string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	f, err := parse(args, &stdout)
	if err == nil {
		f.Threads = 1
		torch.Do(func() { err = run(f, &stdout, &stderr) })
	}
	return stdout.String(), stderr.String(), err
}

// measured runs the command with -json on one matrix.
func measured(t *testing.T, args ...string) map[string]any {
	t.Helper()
	out, _, err := analyzed(t, append(args, "-json")...)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	return got
}

// file writes tensors and returns the path.
func file(t *testing.T, tensors map[string]torch.Tensor) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.safetensors")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := torch.WriteSafetensors(f, tensors, nil); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPublishedExample reads the numbers of the isotropy example under the names that are promised.
func TestPublishedExample(t *testing.T) {
	torch.Test(t, func() {
		path := file(t, map[string]torch.Tensor{"w": torch.FromFloat64s([]float64{1, 2, 3, -1, -2, 0.5}, torch.CPU, 3,
			2)})
		for _, got := range []map[string]any{measured(t, "-vectors", path), measured(t, "-vectors="+path+":w")} {
			for name, want := range map[string]float64{
				"i1": 0.419344, "i2": 0.409102, "i1_both_signs": 0.098029, "i2_both_signs": 0.714325,
				"mean_cosine": -0.2383475 * 3 / 2, // the published penalty has the divisor V^2
				"frobenius":   math.Sqrt(19.25), "sigma_ratio": math.Sqrt(4.81453 / 14.43547), "vocabulary": 3,
				"width": 2,
			} {
				if x, ok := got[name].(float64); !ok || math.Abs(x-want) > 1e-6 {
					t.Errorf("%s is %v, want %v", name, got[name], want)
				}
			}
			values := got["singular_values"].([]any)
			share := values[0].(float64) / (values[0].(float64) + values[1].(float64))
			if rank, want := got["effective_rank"].(float64),
				math.Exp(-share*math.Log(share)-(1-share)*math.Log(1-share)); math.Abs(rank-want) > 1e-12 {
				t.Errorf("effective_rank is %v, want %v", rank, want)
			}
			// Two values fix the polynomial prior, and are too few for an exponential one.
			priors := got["priors"].([]any)
			if len(priors) != 1 {
				t.Fatalf("the priors are %v, want a polynomial one", priors)
			}
			polynomial := priors[0].(map[string]any)
			power := math.Log2(math.Sqrt(14.43547 / 4.81453))
			if x := polynomial["prior_scale"].(float64); math.Abs(x-math.Sqrt(14.43547)) > 1e-5 ||
				math.Abs(polynomial["prior_power"].(float64)-power) > 1e-5 {
				t.Errorf("the priors are %v, want the scale %v and the power %v", priors, math.Sqrt(14.43547), power)
			}
			if x := polynomial["prior_ratio"].(float64); math.Abs(x-got["sigma_ratio"].(float64)) > 1e-5 {
				t.Errorf("the prior's ratio is %v, that of the singular values %v", x, got["sigma_ratio"])
			}
			for _, name := range []string{"partition_spread", "hubness", "norm_frequency_correlation"} {
				if _, ok := got[name]; !ok {
					t.Errorf("there is no %s", name)
				}
			}
		}
	})
}

// TestFlagsOfPriors: what analyze prints is what spectrum control reads, also for singular values that are all equal.
func TestFlagsOfPriors(t *testing.T) {
	for _, c := range []struct {
		falling []float64
		flags   []string
	}{
		{[]float64{4, 2}, []string{"-set=objective.prior_scale=4 -set=objective.prior_ratio=0.5"}},
		{[]float64{3, 3, 3, 3}, []string{
			"-set=objective.prior_scale=3 -set=objective.prior_ratio=1 -set=objective.prior_power=0.1",
			"-set=objective.prior_scale=3 -set=objective.prior_ratio=1"}},
	} {
		var got []string
		for _, p := range priors(c.falling) {
			got = append(got, p.flags())
		}
		if !slices.Equal(got, c.flags) {
			t.Errorf("%v has the priors %q, want %q", c.falling, got, c.flags)
		}
	}
}

// TestVectorsOfText: a .vec file has the same measures as its matrix, and its words name the hub.
func TestVectorsOfText(t *testing.T) {
	torch.Test(t, func() {
		path := filepath.Join(t.TempDir(), "words.vec")
		if err := os.WriteFile(path, []byte("3 2\nhund 1 2\nkatze 3 -1\nmaus -2 0.5\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		got := measured(t, "-vectors", path)
		if x := got["i1"].(float64); math.Abs(x-0.419344) > 1e-6 || got["vocabulary"] != 3.0 {
			t.Errorf("I1 is %v of %v words", x, got["vocabulary"])
		}
		if word := got["hub"]; word != "hund" && word != "katze" && word != "maus" {
			t.Errorf("the hub is %v", word)
		}
		// Lengths 2.24, 3.16 and 2.06 in the order of lines, which stands for falling frequency.
		if x := got["norm_frequency_correlation"].(float64); math.Abs(x-0.5) > 1e-12 {
			t.Errorf("norm and frequency have the correlation %v", x)
		}
	})
}

// TestUndefinedMeasuresAreNull: a matrix of zeros has no cosines, ratios or hubs, and the table says so.
func TestUndefinedMeasuresAreNull(t *testing.T) {
	torch.Test(t, func() {
		path := file(t, map[string]torch.Tensor{"w": torch.Zeros(torch.Float32, torch.CPU, 4, 3)})
		got := measured(t, "-vectors", path)
		for _, name := range []string{"mean_cosine", "sigma_ratio", "effective_rank", "hubness",
			"norm_frequency_correlation", "hub"} {
			if x, there := got[name]; !there || x != nil {
				t.Errorf("%s is %v", name, x)
			}
		}
		if got["i1"] != 1.0 || got["i2"] != 0.0 {
			t.Errorf("I1 is %v, I2 %v", got["i1"], got["i2"])
		}
		out, _, err := analyzed(t, "-vectors", path, "-out", t.TempDir())
		if err != nil || !strings.Contains(out, "mean cosine") {
			t.Errorf("%v:\n%s", err, out)
		}
		// What was measured is printed even where no picture can be written.
		out, _, err = analyzed(t, "-vectors", path, "-out", path)
		if err == nil || !strings.HasSuffix(err.Error(), "-out DIR writes the pictures elsewhere") ||
			!strings.Contains(out, "mean cosine") {
			t.Errorf("%v:\n%s", err, out)
		}
	})
}

// TestLongNames: a table has room for any number of names of any length.
func TestLongNames(t *testing.T) {
	for _, letters := range []int{1, 10, 14, 18, 27, 40, 80, 204} {
		var all []*analysis
		for i := range 9 {
			all = append(all, &analysis{Name: strings.Repeat("n", letters) + fmt.Sprint(i)})
		}
		var out bytes.Buffer
		printTable(&out, all)
		for i := range 9 {
			if !strings.Contains(out.String(), fmt.Sprint("n", i)) {
				t.Errorf("%d letters: the table lacks name %d:\n%s", letters, i, &out)
			}
		}
	}
}

// TestNormalise: the second matrix gets the first one's norm, so that one that is only smaller does not seem more
// isotropic.
func TestNormalise(t *testing.T) {
	torch.Test(t, func() {
		w := torch.NewStream(1, "matrix").Normal(0.5, 1, torch.Float32, torch.CPU, 50, 4)
		path := file(t, map[string]torch.Tensor{"large": w, "small": w.MulScalar(0.25)})
		i1 := func(args ...string) (values []float64) {
			out, _, err := analyzed(t, append(args, "-vectors", path+":large", "-vectors", path+":small", "-json")...)
			if err != nil {
				t.Fatal(err)
			}
			var all []struct{ I1, Frobenius, Scaled_by float64 }
			if err := json.Unmarshal([]byte(out), &all); err != nil {
				t.Fatal(err)
			}
			return []float64{all[0].I1, all[1].I1, all[1].Frobenius / all[0].Frobenius, all[1].Scaled_by}
		}
		if x := i1(); !(x[1] > 2*x[0]) || math.Abs(x[2]-0.25) > 1e-6 || x[3] != 1 {
			t.Errorf("as they are: %v", x)
		}
		if x := i1("-normalise"); math.Abs(x[1]-x[0]) > 1e-6 || math.Abs(x[2]-1) > 1e-6 || math.Abs(x[3]-4) > 1e-5 {
			t.Errorf("scaled: %v", x)
		}
		out, _, err := analyzed(t, "-normalise", "-vectors", path+":large", "-vectors", path+":small", "-rows", "20",
			"-samples", "3")
		if err != nil || !strings.Contains(out, "scaled by 4 to the Frobenius norm of the first matrix") ||
			!strings.Contains(out, "means of 3 samples of 20 rows") {
			t.Errorf("the table does not say what was done (%v):\n%s", err, out)
		}
		s := &subject{w: torch.Full(1, torch.Float32, torch.CPU, 1000, 100), scale: 1}
		before := torch.LiveBytes()
		if s.scaleTo(2); torch.LiveBytes()-before > 100*1000 {
			t.Errorf("the matrix of 400,000 bytes takes %d more once it is scaled", torch.LiveBytes()-before)
		}
		torch.Free(s.w)
	})
}

// TestRunFolders reads the best weights of translation runs, dense and factored, and puts the pictures where they
// belong.
func TestRunFolders(t *testing.T) {
	torch.Test(t, func() {
		place := t.TempDir()
		one, two := filepath.Join(place, "mle-sample-seed1"), filepath.Join(place, "spectrum-sample-seed1")
		wants := map[string]torch.Tensor{one: runFolderOf(t, one, "mle"), two: runFolderOf(t, two, "spectrum")}
		for folder, want := range wants {
			got := measured(t, "-run", folder)
			if f := got["frobenius"].(float64); math.Abs(f-math.Sqrt(want.Square().Sum().Item())) > 1e-4 {
				t.Errorf("%s has the norm %v", folder, f)
			}
		}
		if _, err := os.Stat(filepath.Join(one, record.PlotsDir)); err == nil {
			t.Error("-json drew pictures that nobody asked for")
		}
		out, log, err := analyzed(t, "-run", one, two)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(out, "\n")
		if diff := cmp.Diff([]string{"mle-sample-seed1", "spectrum-sample-seed1"}, strings.Fields(first)); diff != "" {
			t.Error(diff)
		}
		if _, _, err := analyzed(t, "-run="+one); err != nil {
			t.Fatal(err)
		}
		for _, folder := range []string{place, one} {
			found, _ := filepath.Glob(filepath.Join(folder, record.PlotsDir, "analysis_*.png"))
			if len(found) != 6 {
				t.Errorf("%s has the pictures %v; %s", folder, found, log)
			}
		}
	})
}

// TestLanguageModels: frequencies come from the training text, and without it the order of rows stands for them.
func TestLanguageModels(t *testing.T) {
	torch.Test(t, func() {
		folder, data := t.TempDir(), t.TempDir()
		for name, text := range map[string]string{"train.txt": "a b b c c c\n", "valid.txt": "a d\n",
			"test.txt": "b\n"} {
			if err := os.WriteFile(filepath.Join(data, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		c := experiment.Default()
		c.Model.Kind, c.Model.Width, c.Model.Hidden, c.Model.LastHidden, c.Model.Layers = "awd-lstm", 4, 6, 4, 1
		c.Data.Dir, c.Data.Train, c.Data.Valid, c.Data.Test, c.Data.Store = data, "train", "valid", []string{"test"},
			"none"
		texts, err := experiment.ReadText(c.Data, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := language.SaveWords(texts.Words, folder); err != nil {
			t.Fatal(err)
		}
		made, err := language.New(c.Language(), texts.Words, torch.CPU)
		if err != nil {
			t.Fatal(err)
		}
		defer made.Free()
		saveRun(t, folder, c, made.Params)
		open := func() *subject {
			s, err := runFolder{folder, "lm", 0, false, "output", ""}.open(io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		with, err := runFolder{folder, "lm", 3, false, "output", ""}.open(io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if c := with.contexts; c == nil || c.States < 2 || math.IsNaN(c.Hull.Distance) || !math.IsNaN(c.BiasOverGain) ||
			math.IsNaN(c.MedianMargin) {
			t.Errorf("the hidden states are %+v", with.contexts)
		}
		s, got := open(), map[string]float64{}
		for i, n := range s.counts {
			got[s.word(i)] = n
		}
		if s.ordered || got["a"] != 1 || got["b"] != 2 || got["c"] != 3 || !math.IsNaN(got["d"]) {
			t.Errorf("the words occur %v", got)
		}
		changed := runFolder{folder, "lm", 0, true, "output", ""}
		for file, sum := range map[string]string{"": "", "test.txt": "of another text"} {
			results := record.Results{Data: record.ResultsData{SHA256: maps.Clone(texts.Sums)}}
			if file != "" {
				results.Data.SHA256[file] = sum
			}
			if err := files.WriteJSON(filepath.Join(folder, record.File), results); err != nil {
				t.Fatal(err)
			}
			_, err := changed.open(io.Discard)
			if (err == nil) != (file == "") || err != nil && !strings.Contains(err.Error(), "test.txt has changed since") {
				t.Errorf("-save with %q changed: %v", file, err)
			}
		}
		if err := os.Remove(filepath.Join(data, "train.txt")); err != nil {
			t.Fatal(err)
		}
		if s := open(); !s.ordered || s.counts[0] <= s.counts[1] {
			t.Errorf("without the text the words occur %v", s.counts)
		}
		// An imported model's settings name the built-in sample, which is none of its texts.
		c.Preset, c.Data.Dir, c.Data.Sample = experiment.Imported, "", true
		saveRun(t, folder, c, made.Params)
		var said bytes.Buffer
		s, err = runFolder{folder, "lm", 3, false, "output", ""}.open(&said)
		if err != nil || !s.ordered || s.contexts != nil || !strings.Contains(said.String(), "no text came with it") {
			t.Errorf("an imported model: %v, %+v\n%s", err, s, said.String())
		}
	})
}

// runFolderOf writes a run folder with one checkpoint of fresh weights, and returns its output matrix.
func runFolderOf(t *testing.T, folder, method string) torch.Tensor {
	t.Helper()
	c := experiment.Default()
	c.Objective.Method, c.Data.Merges = method, 50
	c.Model.EncoderLayers, c.Model.DecoderLayers, c.Model.Width, c.Model.FFNWidth, c.Model.Heads,
		c.Model.MaxPositions = 1, 1, 8, 16, 2, 128
	lines, _, _ := sample.Translation(1, 60, 1, 1)
	pair, err := bitext.Learn(c.Data.TextSettings, bitext.InMemory(lines.Source, lines.Target), nil)
	if err != nil {
		t.Fatal(err)
	}
	made, err := translation.New(c.Translation(), pair, torch.CPU)
	if err != nil {
		t.Fatal(err)
	}
	defer made.Free()
	if err := pair.Save(filepath.Join(folder, experiment.TokenizerDir)); err != nil {
		t.Fatal(err)
	}
	saveRun(t, folder, c, made.Params)
	return made.Output.Embedding().Matrix().Clone()
}

// saveRun writes the configuration and a checkpoint.
func saveRun(t *testing.T, folder string, c experiment.Config, params *torch.Params) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, experiment.ConfigFile), []byte(c.TOML()), 0o644); err != nil {
		t.Fatal(err)
	}
	store := checkpoint.Store{Dir: filepath.Join(folder, experiment.CheckpointsDir)}
	all := checkpoint.File{Name: checkpoint.ModelFile,
		Write: func(w io.Writer) error { return torch.WriteSafetensors(w, params.Map(), nil) }}
	if err := store.Save(1, []checkpoint.File{all}, nil); err != nil {
		t.Fatal(err)
	}
}
