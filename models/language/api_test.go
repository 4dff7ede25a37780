package language_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// open opens a run folder until the end of the test, which fails where tensors outlive it.
func open(t *testing.T, folder string) *language.Model {
	t.Helper()
	before := torch.LiveHandles()
	m, err := language.Open(folder, language.Options{Device: "cpu", Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.Close() // the test may have closed it
		if left := torch.LiveHandles() - before; left != 0 {
			t.Errorf("%d tensors outlived the model", left)
		}
	})
	return m
}

// openCounts opens the run that has learnt to count.
func openCounts(t *testing.T) *language.Model {
	t.Helper()
	folder, err := counts()
	if err != nil {
		t.Fatal(err)
	}
	return open(t, folder)
}

// run is the folder of a model with fresh weights.
func run(t testing.TB, config string, words *corpus.Words) string {
	t.Helper()
	path := t.TempDir()
	s, err := write(path, config)
	if err != nil {
		t.Fatal(err)
	}
	s.Seed = 1
	torch.Test(t, func() {
		m, err := language.New(s, words, device)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Free()
		if err := save(path, m); err != nil {
			t.Fatal(err)
		}
	})
	return path
}

func score(t *testing.T, m *language.Model, text string) language.Score {
	t.Helper()
	s, err := m.Score(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sample(t *testing.T, m *language.Model, prompt string, o language.SampleOptions) string {
	t.Helper()
	text, err := m.Sample(t.Context(), prompt, o)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// byHand is the loss of a text after the end of a line, from its ids.
func byHand(t *testing.T, m *language.Model, lines ...string) (s language.Score) {
	t.Helper()
	end, _ := m.Words.ID(corpus.EndOfLine)
	ids := []int32{end}
	for _, line := range lines {
		for _, word := range strings.Fields(line) {
			id, known := m.Words.ID(word)
			if !known {
				t.Fatalf("%q is unknown", word)
			}
			ids = append(ids, id)
		}
		ids = append(ids, end)
	}
	torch.Test(t, func() { s.NLL, s.Tokens = m.NLL(columns(t, ids, 1)) })
	return s
}

// A score is the model's loss of the text after the end of a line; how lines and words are set off does not matter.
func TestScore(t *testing.T) {
	words := corpus.NewWords()
	read(t, counting(1, 300, 100), words)
	folder, err := counts()
	if err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"one that counts": folder,
		"awd-lstm":        run(t, countConfig, words),
		"transformer-xl": run(t, "[model]\nkind = \"transformer-xl\"\nlayers = 2\nwidth = 8\nheads = 2\nffn_width = "+
			"16\nmemory = 5\n[objective]\nlabel_smoothing = 0.0\n[train]\nbptt = 7\n", words),
		"adaptive softmax": run(t, strings.Replace(countConfig, "bias = true",
			"method = \"adaptive\"\nadaptive_cutoffs = \"8,14\"", 1), words),
	} {
		t.Run(name, func(t *testing.T) {
			m := open(t, path)
			long := counting(3, 200, 20)
			for text, lines := range map[string][]string{
				"three four five":               {"three four five"},
				"three four five\n":             {"three four five"},
				"  three\tfour  five \r\n":      {"three four five"},
				"nine ten\n\none two":           {"nine ten", "", "one two"},
				"nine ten\n\n":                  {"nine ten", ""},
				strings.Join(long, "\n") + "\n": long,
			} {
				got, want := score(t, m, text), byHand(t, m, lines...)
				if got.Tokens != want.Tokens || math.Abs(got.NLL-want.NLL) > 1e-6*want.NLL || !(got.NLL > 0) {
					t.Errorf("%.40q has score %+v, by hand %+v", text, got, want)
				}
			}
		})
	}
	m := openCounts(t)
	if right, wrong := score(t, m, "three four five six"), score(t, m, "three six five four"); !(right.NLL < wrong.NLL-3) || right.Tokens != 5 {
		t.Errorf("counting has loss %+v, and not counting %+v", right, wrong)
	}
}

// A model without the unknown word says which word it does not know, and where; with it, words that are not known are
// that one.
func TestUnknownWords(t *testing.T) {
	m := openCounts(t)
	for what, call := range map[string]func(text string) error{
		"Score": func(text string) error { _, err := m.Score(t.Context(), text); return err },
		"Sample": func(text string) error {
			_, err := m.Sample(t.Context(), text, language.SampleOptions{})
			return err
		},
	} {
		err := call("one two\nthree many four")
		if err == nil {
			t.Errorf("%s knows the word", what)
			continue
		}
		for _, part := range []string{"line 2", `"many"`, "<unk>", "use words of its training text"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", what, err, part)
			}
		}
	}

	words := corpus.NewWords()
	read(t, append(counting(1, 20, 20), "one <unk> two"), words)
	m = open(t, run(t, countConfig, words))
	if got, want := score(t, m, "one many\nmore two"), score(t, m, "one <unk>\n<unk> two"); got != want {
		t.Errorf("unknown words have score %+v, the unknown word %+v", got, want)
	}
	o := language.SampleOptions{Words: 8}
	rest := strings.TrimPrefix(sample(t, m, "one <unk>", o), "one <unk>")
	if got := sample(t, m, "one many", o); got != "one many"+rest {
		t.Errorf("a prompt with an unknown word goes on as %q, with the unknown word as %q", got, rest)
	}

	endless := corpus.NewWords()
	endless.ID("one")
	m = open(t, run(t, countConfig, endless))
	if _, err := m.Score(t.Context(), "one"); err == nil || !strings.Contains(err.Error(), corpus.EndOfLine) {
		t.Errorf("a vocabulary without the end of lines: %v", err)
	}
}

// Without a temperature the most probable words follow; with one, the words of a seed and stream.
func TestSample(t *testing.T) {
	m := openCounts(t)
	for _, c := range []struct {
		prompt, want string
		words        int
	}{
		{"three four", "three four five six seven", 3},
		{" three \t four ", "three four five six seven", 3},
		{"nine\nthree four", "nine\nthree four five", 1},
		{"nine\n\nthree", "nine\n\nthree four", 1},
	} {
		if got := sample(t, m, c.prompt, language.SampleOptions{Words: c.words}); got != c.want {
			t.Errorf("%q goes on as %q, want %q", c.prompt, got, c.want)
		}
	}

	draw := func(o language.SampleOptions) string {
		o.Temperature = 1
		return sample(t, m, "three", o)
	}
	one := draw(language.SampleOptions{Seed: 3})
	if draw(language.SampleOptions{Seed: 3}) != one {
		t.Error("one seed gives two texts")
	}
	if draw(language.SampleOptions{Seed: 4}) == one || draw(language.SampleOptions{Seed: 3, Stream: 1}) == one {
		t.Error("two seeds, or two streams of one, give one text")
	}
	// The words that are added, and the ends of lines, of which the last is not written.
	if n := len(strings.Fields(one)) - 1 + strings.Count(one, "\n"); n != 99 && n != 100 {
		t.Errorf("%d words were added, want 100", n)
	}
	if n := len(strings.Fields(draw(language.SampleOptions{Seed: 3, Words: 7}))); n > 8 ||
		!strings.HasPrefix(one, draw(language.SampleOptions{Seed: 3, Words: 7})) {
		t.Errorf("fewer words are others, or %d", n)
	}
	greedy := sample(t, m, "three", language.SampleOptions{})
	if draw(language.SampleOptions{TopK: 1}) != greedy || draw(language.SampleOptions{TopP: 1e-6}) != greedy {
		t.Error("the one best word is not the most probable one")
	}

	for what, o := range map[string]language.SampleOptions{
		"a temperature below 0":       {Temperature: -1},
		"a temperature that is none":  {Temperature: math.NaN()},
		"fewer than no words to draw": {TopK: -1},
		"more than all probability":   {TopP: 1.5},
		"less than no probability":    {TopP: -0.5},
		"fewer than no words":         {Words: -1},
		"more than the best word":     {MinP: 2},
		"no typical mass":             {Typical: math.NaN()},
		"more than only contrast":     {Contrastive: 1.1},
		"a negative penalty":          {Repetition: -1},
	} {
		if text, err := m.Sample(t.Context(), "three", o); err == nil || text != "" ||
			!strings.Contains(err.Error(), "makes no sense") {
			t.Errorf("%s: %q, %v", what, text, err)
		}
	}
}

// A prompt is continued from where it ends: within a line, or at the start of the next one.
func TestPromptsOfLines(t *testing.T) {
	m := openCounts(t)
	end, _ := m.Words.ID(corpus.EndOfLine)
	three, _ := m.Words.ID("three")
	for prompt, ids := range map[string][]int32{
		"": {end}, "three": {end, three}, "three\n": {end, three, end}, "three\n\n": {end, three, end, end},
		"\n": {end, end}, "\nthree ": {end, end, three},
	} {
		var next []int32
		o := language.SampleOptions{Words: 6}
		torch.Test(t, func() { next = m.Continue(t.Context(), ids, o) })
		want := strings.TrimSuffix(prompt, " ")
		for _, id := range next {
			switch {
			case id == end:
				want += "\n"
				continue
			case want != "" && !strings.HasSuffix(want, "\n"):
				want += " "
			}
			want += m.Words.Word(id)
		}
		if got := sample(t, m, prompt, o); got != strings.TrimSuffix(want, "\n") {
			t.Errorf("%q goes on as %q, want %q", prompt, got, want)
		}
	}
}

// Many goroutines at once get what one call gets.
func TestManyGoroutines(t *testing.T) {
	m := openCounts(t)
	text := strings.Join(counting(5, 30, 20), "\n")
	scored := score(t, m, text)
	o := language.SampleOptions{Words: 20, Temperature: 1, Seed: 5}
	drawn := sample(t, m, "three", o)
	var wait sync.WaitGroup
	for k := range 12 {
		wait.Go(func() {
			if k%2 == 0 {
				if got, err := m.Score(t.Context(), text); err != nil || got != scored {
					t.Errorf("the score is %+v, %v, want %+v", got, err, scored)
				}
				return
			}
			if got, err := m.Sample(t.Context(), "three", o); err != nil || got != drawn {
				t.Errorf("the text is %q, %v, want %q", got, err, drawn)
			}
		})
	}
	wait.Wait()
}

// What is no run folder of a language model, or no longer one, is reported with what is missing, whichever way it is
// opened.
func TestOpenRefuses(t *testing.T) {
	before := torch.LiveHandles()
	fails := func(path string, parts ...string) {
		t.Helper()
		var loaded *language.Model
		var err error
		torch.Do(func() { loaded, err = language.Load(path, device) })
		opened, other := language.Open(path, language.Options{Device: "cpu", Threads: 1})
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
	fails(t.TempDir(), "holds no run", "config.toml", "give the folder that a training run wrote")

	path := t.TempDir()
	if _, err := write(path, "[model]\nwidth = 8\n"); err != nil {
		t.Fatal(err)
	}
	fails(path, path+" holds no language model", `model.kind = "transformer"`, "awd-lstm")
	if _, err := language.Open(path, language.Options{Device: "gpu"}); err == nil ||
		!strings.Contains(err.Error(), `"gpu"`) {
		t.Errorf("a device that there is not gave %v", err)
	}

	words := corpus.NewWords()
	read(t, counting(1, 20, 20), words)
	path = run(t, countConfig, words)
	if err := os.Remove(filepath.Join(path, language.TokenizerFolder, "vocabulary.txt")); err != nil {
		t.Fatal(err)
	}
	fails(path, "vocabulary.txt")

	path = run(t, countConfig, words)
	if err := os.RemoveAll(filepath.Join(path, checkpoint.Folder)); err != nil {
		t.Fatal(err)
	}
	fails(path, "no valid checkpoint in", "none has been saved yet")

	path = run(t, countConfig, words)
	if _, err := write(path, strings.Replace(countConfig, "width = 24", "width = 16", 1)); err != nil {
		t.Fatal(err)
	}
	fails(path, checkpoint.ModelFile, "shape")
	if left := torch.LiveHandles() - before; left != 0 {
		t.Errorf("%d tensors are left of runs that were not opened", left)
	}
}

// A model that is opened is the one that was saved, and says which checkpoint it could not take.
func TestOpen(t *testing.T) {
	words := corpus.NewWords()
	read(t, counting(1, 20, 20), words)
	path := run(t, countConfig, words)
	m := open(t, path)
	if m.Words.Hash() != words.Hash() || len(m.Warnings) != 0 || m.Device != torch.CPU {
		t.Errorf("%d words, warnings %v, device %v", m.Words.Len(), m.Warnings, m.Device)
	}
	if err := os.Remove(filepath.Join(path, checkpoint.Folder, "BEST")); err != nil {
		t.Fatal(err)
	}
	if m := open(t, path); len(m.Warnings) != 1 || !strings.Contains(m.Warnings[0].String(), "BEST is not there") {
		t.Errorf("warnings %v", m.Warnings)
	}
}
