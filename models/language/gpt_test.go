package language_test

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/tokenize/bytebpe"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// gptSettings are of a small GPT that reads blocks of eight tokens.
func gptSettings() language.Settings {
	s := language.Defaults()
	s.Model.Kind, s.Model.Layers, s.Model.Width, s.Model.Heads, s.Model.FFNWidth = "gpt", 2, 8, 2, 12
	s.Model.Positions, s.Model.Activation, s.Model.MaxPositions = "learned", "gelu_tanh", 10
	s.Train.Random, s.Train.BPTT = false, 8
	s.Objective.Set("label_smoothing", 0)
	return s
}

// withGPT runs body with a small GPT over 23 words and the end of a line, and a text of 45 of them.
func withGPT(t *testing.T, s language.Settings, body func(m *language.Model, ids []int32)) {
	t.Helper()
	torch.Test(t, func() {
		vocabulary := fewWords(23)
		vocabulary.ID(corpus.EndOfLine)
		m, err := language.New(s, vocabulary, device)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Free()
		stream := torch.NewStream(7, "init")
		for _, x := range m.Params.Tensors() { // weights that tell words and positions apart
			torch.NoGrad(func() {
				x.Assign(stream.Normal(0, 0.5, torch.Float32, device, x.Shape()...))
			})
		}
		ids := make([]int32, 45)
		for i := range ids {
			ids[i] = int32(i*i+i/3) % 24
		}
		body(m, ids)
	})
}

// TestContextsOfBlocks: hidden states come in whole blocks of a column, and are no more than that beyond the number
// asked for.
func TestContextsOfBlocks(t *testing.T) {
	withGPT(t, gptSettings(), func(m *language.Model, ids []int32) {
		for asked, want := range map[int]int{1: 8, 10: 16, 100: 104, 1000: 880} {
			c, err := m.Contexts(slices.Repeat(ids, 20), asked)
			if err != nil {
				t.Fatal(err)
			}
			if got := len(c.Targets); got != want {
				t.Errorf("%d states where %d are asked for, not %d", got, asked, want)
			}
		}
	})
}

// after gives the log-probabilities of the token after some, read as a chunk of its own.
func after(m *language.Model, ids []int32) []float32 {
	chunk := models.Chunk{Time: len(ids), Columns: 1}
	for _, id := range ids {
		chunk.IDs = append(chunk.IDs, int64(id))
	}
	scope := torch.OpenScope()
	defer scope.Close()
	states, _ := m.Network.Forward(chunk, nil, nil)
	return m.Output.LogProbs(states.Hidden.Narrow(0, int64(len(ids)-1), 1)).Float32s()
}

// TestWindows: each token is scored in the window that the literature scores it in: windows of eight tokens begin a
// stride apart, and each scores what the one before has not.
func TestWindows(t *testing.T) {
	for _, stride := range []int{0, 8, 4, 2, 1} {
		s := gptSettings()
		s.Train.Stride = stride
		withGPT(t, s, func(m *language.Model, ids []int32) {
			step, want, done := stride, 0.0, 0
			if step == 0 {
				step = 8
			}
			for begin := 0; done < len(ids)-1; begin += step {
				for end := min(begin+8, len(ids)-1); done < end; done++ {
					want -= float64(after(m, ids[begin:done+1])[ids[done+1]])
				}
			}
			text, err := corpus.NewColumns(ids, 1, "the text", "")
			if err != nil {
				t.Fatal(err)
			}
			got, tokens := m.NLL(text)
			if tokens != len(ids)-1 || math.Abs(got-want) > 1e-4*want {
				t.Errorf("stride %d: %.6f over %d tokens, want %.6f", stride, got, tokens, want)
			}
			// By three columns, which a process of its own may read: the same as each column by itself.
			three, err := corpus.NewColumns(ids, 3, "the text", "")
			if err != nil {
				t.Fatal(err)
			}
			together, _ := m.NLL(three)
			alone := 0.0
			for i := range 3 {
				one, err := corpus.NewColumns(ids[i*15:(i+1)*15], 1, "the text", "")
				if err != nil {
					t.Fatal(err)
				}
				sum, _ := m.NLL(one)
				alone += sum
			}
			if math.Abs(together-alone) > 1e-4*alone {
				t.Errorf("stride %d: three columns have %.6f, one by one %.6f", stride, together, alone)
			}
		})
	}
}

// TestDynamicWindows: where weights follow a text by chunks, but stay at a rate of 0, its loss is that of windows as far
// apart, also where the chunk does not divide a window or is longer.
func TestDynamicWindows(t *testing.T) {
	withGPT(t, gptSettings(), func(m *language.Model, ids []int32) {
		text, err := corpus.NewColumns(ids, 1, "the text", "")
		if err != nil {
			t.Fatal(err)
		}
		apart, _ := m.NLL(text)
		for chunk, stride := range map[int]int{1: 1, 3: 3, 5: 5, 8: 8, 17: 8} {
			follower, err := m.Dynamic(ids, chunk, 1)
			if err != nil {
				t.Fatal(err)
			}
			defer follower.Free()
			still, err := follower.NLL(ids, language.Dynamic{Epsilon: 1e-3, Chunk: chunk})
			if err != nil {
				t.Fatal(err)
			}
			m.Settings.Train.Stride = follower.Stride(chunk)
			sum, tokens := m.NLL(text)
			near(t, "the loss of windows as far apart", sum/float64(tokens), still, 1e-5)
			if follower.Stride(chunk) != stride || (stride == 8) != (sum == apart) {
				t.Errorf("chunks of %d: windows %d apart have loss %v, side by side %v", chunk, follower.Stride(chunk), sum,
					apart)
			}
		}
	})
}

// TestContinueGPT: the most probable words, with keys and values kept, are those of reading all anew for each; where
// the window of eight is full, its second half stays.
func TestContinueGPT(t *testing.T) {
	withGPT(t, gptSettings(), func(m *language.Model, ids []int32) {
		for _, prompt := range [][]int32{ids[:1], ids[:5], ids[:8], ids[:20]} {
			seen := slices.Clone(prompt)
			var want []int32
			for range 20 {
				if len(seen) > 8 {
					seen = seen[len(seen)-4:]
				}
				p := after(m, seen)
				best := int32(0)
				for i, x := range p {
					if x > p[best] {
						best = int32(i)
					}
				}
				want = append(want, best)
				seen = append(seen, best)
			}
			got := m.Continue(context.Background(), prompt, language.SampleOptions{Words: 20})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("behind %d words (-want +got):\n%s", len(prompt), diff)
			}
		}
	})
}

// TestPieces: texts become pieces that the training text teaches, the same by way of the cache and of a run folder; a
// model of them scores and continues any text.
func TestPieces(t *testing.T) {
	folder := t.TempDir()
	line := " the cat sat on the mat \n the dog sat on the cat \n"
	written := map[string]string{"train": strings.Repeat(line, 20), "b/train": line, "test": "Ä zebra!\n" + line}
	if err := os.Mkdir(filepath.Join(folder, "b"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range written {
		if err := os.WriteFile(filepath.Join(folder, name+".txt"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cache := corpus.StoreSettings{Store: t.TempDir()}.Cache()
	names := language.TextNames{Train: "train", Valid: "b/train", Tests: []string{"test"}}
	s := gptSettings()
	s.Text.Units, s.Text.Pieces = "bytes-bpe", 270
	first, err := language.ReadFiles(s.Text, "", names, folder, cache)
	if err != nil {
		t.Fatal(err)
	}
	run := t.TempDir()
	if err := language.SaveWords(first.Words, run); err != nil {
		t.Fatal(err)
	}
	named := s.Text
	named.Tokenizer = filepath.Join(run, language.TokenizerFolder)
	for what, read := range map[string]func() (*language.Texts, error){
		"the cache": func() (*language.Texts, error) { return language.ReadFiles(s.Text, "", names, folder, cache) },
		"a run":     func() (*language.Texts, error) { return language.ReadFiles(s.Text, run, names, folder, cache) },
		"a folder of pieces": func() (*language.Texts, error) {
			return language.ReadFiles(named, "", names, folder, cache)
		},
	} {
		again, err := read()
		if err != nil {
			t.Fatal(err)
		}
		if again.Words.Hash() != first.Words.Hash() || !cmp.Equal(again.Tests, first.Tests) ||
			!cmp.Equal(again.Train, first.Train) || len(again.Sums) != 3 || !cmp.Equal(again.Sums, first.Sums) {
			t.Errorf("by %s the texts differ", what)
		}
	}
	test := first.Tests[0]
	if test.Words != 17 || test.Bytes != len("Ä zebra!\n"+line) || test.Words >= len(test.IDs) ||
		first.Words.Text(test.IDs) != "Ä zebra!\n"+line {
		t.Errorf("the test has %d words and %d bytes in %d pieces", test.Words, test.Bytes, len(test.IDs))
	}
	if got, want := test.BitsPerByte(2), 2*float64(len(test.IDs))/float64(test.Bytes)/math.Ln2; got != want {
		t.Errorf("%v bits a byte, want %v", got, want)
	}
	torch.Test(t, func() {
		m, err := language.New(s, first.Words, device)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Free()
		if err := write8(run, m); err != nil {
			t.Fatal(err)
		}
	})
	m, err := language.Open(run, language.Options{Device: "cpu", Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	score, err := m.Score(context.Background(), "Ä zebra!\n the cat")
	if want := len(first.Words.Encode("Ä zebra!\n the cat\n")); err != nil || score.Tokens != want || !(score.NLL > 0) {
		t.Errorf("a text scores %+v over %d pieces: %v", score, want, err)
	}
	text, err := m.Sample(context.Background(), "Ä zebra ", language.SampleOptions{Words: 5, Temperature: 1})
	if err != nil || !strings.HasPrefix(text, "Ä zebra ") {
		t.Errorf("continued as %q: %v", text, err)
	}
}

// write8 writes what a run folder holds beside its vocabulary.
func write8(path string, m *language.Model) error {
	if _, err := write(path, `
[data]
units = "bytes-bpe"
pieces = 270
[model]
kind = "gpt"
layers = 2
width = 8
heads = 2
ffn_width = 12
positions = "learned"
activation = "gelu_tanh"
max_positions = 10
[objective]
label_smoothing = 0.0
[train]
bptt = 8
bptt_random = false
`); err != nil {
		return err
	}
	return save(path, m)
}

// TestPiecesRefuse: files that are missing or damaged are named.
func TestPiecesRefuse(t *testing.T) {
	s := gptSettings()
	s.Text.Units, s.Text.Tokenizer = "bytes-bpe", t.TempDir()
	_, err := language.ReadFiles(s.Text, "", language.TextNames{}, "", corpus.StoreSettings{Store: "none"}.Cache())
	if err == nil || !strings.Contains(err.Error(), "data.tokenizer: vocabulary: open") {
		t.Errorf("an empty folder: %v", err)
	}
	var vocabulary, merges bytes.Buffer
	bytebpe.Learn(&bytebpe.Counts{}, 256).Write(&vocabulary, &merges)
	for name, data := range map[string][]byte{"vocab.json": vocabulary.Bytes()[:100], "merges.txt": merges.Bytes()} {
		if err := os.WriteFile(filepath.Join(s.Text.Tokenizer, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, err = language.ReadFiles(s.Text, "", language.TextNames{}, "", corpus.StoreSettings{Store: "none"}.Cache())
	if err == nil || !strings.Contains(err.Error(), "vocab.json: it should be an object of units and ids") {
		t.Errorf("half a vocabulary: %v", err)
	}
}
