package translation_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// fresh is a translator with fresh weights, on the torch thread.
func fresh(t testing.TB, s translation.Settings) *translation.Translator {
	t.Helper()
	made, err := translation.New(s, text(t, s), device)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// text is what a few lines of numbers teach.
func text(t testing.TB, s translation.Settings) *bitext.Sides {
	t.Helper()
	english, german := numbers(1, 40, 1000)
	pair, err := translation.LearnText(s, bitext.InMemory(english, german), nil)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// small are the settings of a network that is made in no time.
func small(t testing.TB) translation.Settings {
	t.Helper()
	return settings(t, smallConfig, func(*translation.Settings) {})
}

// A tied matrix stands once, and every matrix has the name that PyTorch users expect.
func TestTying(t *testing.T) {
	for tying, want := range map[string]string{
		"all":     "decoder.embed_tokens.weight",
		"decoder": "decoder.embed_tokens.weight encoder.embed_tokens.weight",
		"none":    "decoder.embed_tokens.weight decoder.output_projection.weight encoder.embed_tokens.weight",
	} {
		torch.Test(t, func() {
			made := fresh(t, settings(t, smallConfig, func(s *translation.Settings) { s.Model.Tying = tying }))
			defer made.Free()
			tables := slices.DeleteFunc(slices.Clone(made.Params.Names()), func(name string) bool {
				return !strings.Contains(name, "embed_tokens") && !strings.Contains(name, "output_projection")
			})
			slices.Sort(tables)
			if diff := cmp.Diff(want, strings.Join(tables, " ")); diff != "" {
				t.Errorf("tying %s:\n%s", tying, diff)
			}
			for _, name := range []string{"encoder.layers.0.self_attn.q_proj.weight",
				"decoder.layers.0.encoder_attn.out_proj.bias", "decoder.layers.0.fc1.weight"} {
				if !made.Params.Get(name).Defined() {
					t.Errorf("there is no %s", name)
				}
			}
		})
	}
	torch.Test(t, func() {
		s := settings(t, smallConfig, func(s *translation.Settings) { s.Text.Joint = false })
		_, err := translation.New(s, text(t, s), device)
		if err == nil || !strings.Contains(err.Error(), `model.tying = "all" needs one vocabulary`) {
			t.Errorf("two vocabularies under one matrix gave %v", err)
		}
	})
}

// folder writes a run folder with checkpoints of the weights times 1, 2 and 3, the last one with an average: times 10.
func folder(t testing.TB, config string, made *translation.Translator) string {
	t.Helper()
	path := t.TempDir()
	if _, err := write(path, config); err != nil {
		t.Fatal(err)
	}
	if err := translation.SaveText(made.Text, filepath.Join(path, bitext.TokenizerFolder)); err != nil {
		t.Fatal(err)
	}
	store := checkpoint.Store{Dir: filepath.Join(path, checkpoint.Folder)}
	for step := 1; step <= 3; step++ {
		files := []checkpoint.File{saved(checkpoint.ModelFile, made, float64(step))}
		if step == 3 {
			files = append(files, saved(checkpoint.AverageFile, made, 10))
		}
		if err := store.Save(step, files, nil); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// Load takes the best checkpoint, the average where there is one, and the newest whole one where the best is damaged.
func TestLoad(t *testing.T) {
	torch.Test(t, func() {
		made := fresh(t, small(t))
		defer made.Free()
		path := folder(t, smallConfig, made)
		const name = "decoder.layers.0.fc1.weight"
		opens := func(factor float64, warning string) {
			t.Helper()
			opened, err := translation.Load(path, device)
			if err != nil {
				t.Fatal(err)
			}
			defer opened.Free()
			got, want := opened.Params.Get(name).Float64s(), made.Params.Get(name).Float64s()
			if float32(got[1]) != float32(want[1])*float32(factor) {
				t.Errorf("%s begins with %v, want %v times %v", name, got[1], factor, want[1])
			}
			if w := opened.Warnings; len(w) == 0 && warning != "" || len(w) > 0 &&
				!strings.Contains(w[0].String(), warning) {
				t.Errorf("warnings %v, want %q", w, warning)
			}
		}
		store := checkpoint.Store{Dir: filepath.Join(path, checkpoint.Folder)}
		opens(10, "BEST is not there")
		if err := store.MarkBest(2); err != nil {
			t.Fatal(err)
		}
		opens(2, "")
		if err := os.Truncate(filepath.Join(store.Dir, "step-2", checkpoint.ModelFile), 100); err != nil {
			t.Fatal(err)
		}
		opens(10, "step-2/model.safetensors is cut off")
	})
}

// What is no run folder of a translator, or no longer one, is reported with what is missing, whichever way it is
// opened.
func TestOpenRefuses(t *testing.T) {
	fails := func(path string, parts ...string) {
		t.Helper()
		var loaded *translation.Translator
		var err error
		torch.Do(func() { loaded, err = translation.Load(path, device) })
		opened, other := translation.Open(path, translation.Options{Device: "cpu", Threads: 1})
		if loaded != nil || opened != nil {
			t.Fatalf("%s was opened, want an error with %q", path, parts)
		}
		if err == nil || other == nil || err.Error() != other.Error() {
			t.Errorf("Load says %v, Open %v", err, other)
			return
		}
		for _, part := range parts {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not say %q", err, part)
			}
		}
	}
	before := torch.LiveHandles()
	fails(t.TempDir(), "holds no run", "config.toml", "give the folder that a training run wrote")

	path := t.TempDir()
	if _, err := write(path, "[model]\nkind = \"awd-lstm\"\n"); err != nil {
		t.Fatal(err)
	}
	fails(path, path+" holds no translator", `model.kind = "awd-lstm"`, "transformer")
	if _, err := translation.Open(path, translation.Options{Device: "gpu"}); err == nil ||
		!strings.Contains(err.Error(), `"gpu"`) {
		t.Errorf("a device that there is not gave %v", err)
	}

	var made *translation.Translator
	torch.Do(func() { made = fresh(t, small(t)) })
	run := func() (path string) {
		torch.Do(func() { path = folder(t, smallConfig, made) })
		return path
	}

	path = run()
	if err := os.Rename(filepath.Join(path, "tokenizer", "vocabulary.de"), filepath.Join(path, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	fails(path, filepath.Join("tokenizer", "vocabulary.de"))

	path = run()
	if err := os.RemoveAll(filepath.Join(path, "checkpoints")); err != nil {
		t.Fatal(err)
	}
	fails(path, "no valid checkpoint in", "none has been saved yet")

	path = run()
	if _, err := write(path, strings.Replace(smallConfig, "ffn_width = 16", "ffn_width = 24", 1)); err != nil {
		t.Fatal(err)
	}
	fails(path, "average.safetensors", "fc1", "shape [16 8], the model needs [24 8]")

	path = run()
	if _, err := write(path, strings.Replace(smallConfig, "heads = 2", `heads = "two"`, 1)); err != nil &&
		!strings.Contains(err.Error(), "model.heads") {
		t.Fatal(err)
	}
	fails(path, "config.toml", "model.heads")
	torch.Do(func() { made.Free() })
	if left := torch.LiveHandles() - before; left != 0 {
		t.Errorf("%d tensors are left of runs that were not opened", left)
	}
}

// A stranger's run folder cannot take all memory of the CPU.
func TestNetworkFarLargerThanItsCheckpoint(t *testing.T) {
	before := torch.LiveHandles()
	var path string
	torch.Do(func() {
		made := fresh(t, small(t))
		defer made.Free()
		path = folder(t, smallConfig, made)
	})
	large := strings.NewReplacer("ffn_width = 16", "ffn_width = 1048576", "\nwidth = 8", "\nwidth = 2048")
	if _, err := write(path, large.Replace(smallConfig)); err != nil {
		t.Fatal(err)
	}
	torch.ResetPeakBytes()
	_, err := translation.Open(path, translation.Options{Device: "cpu", Threads: 1})
	const want = "the parameter decoder.embed_tokens.weight has shape [88 8], the model needs [88 2048]"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("it is opened with %v", err)
	}
	if peak := torch.PeakBytes(); peak > 4<<20 {
		t.Errorf("it took %d bytes to tell", peak)
	}
	if left := torch.LiveHandles() - before; left != 0 {
		t.Errorf("%d tensors are left", left)
	}
}

// A piece of a word stands for the whole of it.
func TestSourceWord(t *testing.T) {
	torch.Test(t, func() {
		made := fresh(t, small(t))
		defer made.Free()
		units := strings.Fields("a@@ b forty-@@ se@@ ven and c@@ d")
		for place, want := range strings.Fields("ab ab forty-seven forty-seven forty-seven and cd cd") {
			if got := made.SourceWord(units, place); got != want {
				t.Errorf("%s belongs to %q, want %q", units[place], got, want)
			}
		}
		if strings.Join(units, " ") != "a@@ b forty-@@ se@@ ven and c@@ d" {
			t.Errorf("the units are %q now", units)
		}
	})
}

// The mean loss does not depend on batches, and is what scoring each pair gives.
func TestNLL(t *testing.T) {
	made := openDigits(t)
	source, target := numbers(16, 30, 10)
	forced, err := made.Force(t.Context(), source, target, made.Settings.Decode)
	if err != nil {
		t.Fatal(err)
	}
	sum, tokens := 0.0, 0
	for _, scored := range forced {
		sum -= scored.LogProb
		tokens += len(scored.TokenLogProbs)
	}
	pairs := corpus.Encode(source, target, made.Text.Source.Encode, made.Text.Target.Encode)
	torch.Test(t, func() {
		for _, size := range []int{1, 60, 5000} {
			if nll := made.NLL(pairs, size); math.Abs(nll-sum/float64(tokens)) > 1e-6 {
				t.Errorf("in batches of %d tokens the loss is %v, want %v", size, nll, sum/float64(tokens))
			}
		}
		if nll := made.NLL(corpus.List{}, 60); nll != 0 {
			t.Errorf("no pairs have the loss %v", nll)
		}
	})
}

// A run that aims at vectors of words keeps them, and is opened without any other file.
func TestTargetVectors(t *testing.T) {
	config := strings.NewReplacer("merges = 50",
		"merges = 50\njoint = false\njoint_codes = false\ntarget_units = \"word\"", "width = 8",
		"width = 8\ntying = \"none\"").Replace(smallConfig) +
		"\n[objective]\nmethod = \"vmf\"\nvectors_width = 6\n\n[decode]\nbeam = 1\nmax_length_b = 6\n"
	var path string
	var words []string
	english, _ := numbers(3, 10, 1000)
	torch.Test(t, func() {
		s := settings(t, config, func(*translation.Settings) {})
		made := fresh(t, s)
		defer made.Free()
		if made.Text.Vectors == nil || made.Text.Vectors.Width != 6 {
			t.Fatalf("the target vectors are %+v", made.Text.Vectors)
		}
		path = folder(t, config, made)
		out, err := made.Translate(t.Context(), english, decode.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range out {
			words = append(words, line.Text)
		}
		if strings.Join(words, "") == "" {
			t.Error("all translations are empty")
		}
	})
	if err := (checkpoint.Store{Dir: filepath.Join(path, checkpoint.Folder)}).MarkBest(1); err != nil {
		t.Fatal(err)
	}
	made := open(t, path)
	for i, line := range translate(t, made, english, decode.Options{}) {
		if line.Text != words[i] {
			t.Errorf("line %d is %q, and before it was saved %q", i+1, line.Text, words[i])
		}
	}
	if err := os.Remove(filepath.Join(path, bitext.TokenizerFolder, "vectors.de.safetensors")); err != nil {
		t.Fatal(err)
	}
	if _, err := translation.Open(path, translation.Options{Device: "cpu", Threads: 1}); err == nil ||
		!strings.Contains(err.Error(), "vectors.de.safetensors") {
		t.Errorf("without its vectors: %v", err)
	}
}

// Settings that contradict each other are refused in a sentence that names them; the defaults do not.
func TestCheck(t *testing.T) {
	if err := translation.Defaults().Check(); err != nil {
		t.Error(err)
	}
	for part, change := range map[string]func(*translation.Settings){
		"does not translate":              func(s *translation.Settings) { s.Model.Kind = "qrnn" },
		"must name languages":             func(s *translation.Settings) { s.Text.Target = "" },
		"they must differ":                func(s *translation.Settings) { s.Text.Target = "en" },
		"letters, digits and ._@+- alone": func(s *translation.Settings) { s.Text.Target = "de/at" },
		`data.source_units = "bpe"`:       func(s *translation.Settings) { s.Text.SourceUnits = "word" },
		"where data.lowercase = true":     func(s *translation.Settings) { s.Text.Lowercase, s.Text.Truecase = true, true },
		"5 and data.target_size = 0":      func(s *translation.Settings) { s.Text.SourceSize = 5 },
		"data.codes splits words": func(s *translation.Settings) {
			s.Text.Joint, s.Text.Codes, s.Text.SourceUnits, s.Text.TargetUnits = false, "codes", "word", "word"
		},
		"it wants data.source_size = 0": func(s *translation.Settings) {
			s.Text.Joint, s.Text.SourceVocabulary, s.Text.SourceSize = false, "words", 5
		},
		"it wants data.target_size = 0": func(s *translation.Settings) {
			s.Text.Joint, s.Text.TargetVocabulary, s.Text.TargetSize = false, "words", 5
		},
		`data.target_units = "bpe"`:  func(s *translation.Settings) { s.Text.TargetUnits = "word" },
		"data.joint_codes = true":    func(s *translation.Settings) { s.Text.JointCodes = false },
		"give it as both":            func(s *translation.Settings) { s.Text.SourceVocabulary = "words" },
		"it wants data.joint = true": func(s *translation.Settings) { s.Text.Joint = false },
		"every output would be empty": func(s *translation.Settings) {
			s.Decode.MaxLengthA, s.Decode.MaxLengthB = 0,
				0
		},
		`model.positions = "rotary"`: func(s *translation.Settings) { s.Model.Positions = "rotary" },
		"model.width = 511 is odd":   func(s *translation.Settings) { s.Model.Width, s.Model.Heads = 511, 7 },
		"model.heads":                func(s *translation.Settings) { s.Model.Heads = 7 },
	} {
		s := translation.Defaults()
		change(&s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v, want %q", err, part)
		}
	}
}
