package language_test

import (
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// The toy language counts: a line is "eight nine ten eleven", from one number to a larger one, which a small network
// soon learns but for where lines begin and end.

var (
	ones = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen " +
		"fifteen sixteen seventeen eighteen nineteen")
	tens = strings.Fields("twenty thirty forty fifty sixty seventy eighty ninety")
)

// number is a number below 100.
func number(n int) string {
	switch {
	case n < 20:
		return ones[n]
	case n%10 == 0:
		return tens[n/10-2]
	}
	return tens[n/10-2] + "-" + ones[n%10]
}

// counting are lines of three to nine numbers below a limit.
func counting(seed uint64, lines, below int) (text []string) {
	random := rand.New(rand.NewPCG(seed, 0))
	for range lines {
		n := 3 + random.IntN(min(7, below-3))
		first := random.IntN(below - n)
		line := number(first)
		for i := range n - 1 {
			line += " " + number(first+i+1)
		}
		text = append(text, line)
	}
	return text
}

// read gives the ids of lines.
func read(t testing.TB, lines []string, words *corpus.Words) []int32 {
	t.Helper()
	text, err := corpus.RunningLines(lines, "the toy text", words)
	if err != nil {
		t.Fatal(err)
	}
	return text.IDs
}

// countConfig is of a network that learns to count to twenty in a second.
const countConfig = `
[model]
kind = "awd-lstm"
layers = 1
width = 24
hidden = 24
dropout = 0.0
dropout_embedding = 0.0
dropout_input = 0.0
dropout_hidden = 0.0
weight_drop = 0.0

[objective]
label_smoothing = 0.0
bias = true
`

// write begins a run folder with its configuration, and reads that.
func write(path, config string) (language.Settings, error) {
	if err := os.WriteFile(filepath.Join(path, "config.toml"), []byte(config), 0o644); err != nil {
		return language.Settings{}, err
	}
	return language.ReadSettings(path)
}

// learnt is a run folder with a model that counts, made when it is first asked for.
var learnt struct {
	once   sync.Once
	folder string
	err    error
}

// counts is the folder of a run that has learnt to count to twenty.
func counts() (string, error) {
	learnt.once.Do(func() {
		if learnt.folder, learnt.err = os.MkdirTemp("", "counts"); learnt.err == nil {
			torch.Do(func() { learnt.err = torch.Try(func() error { return train(learnt.folder) }) })
		}
	})
	return learnt.folder, learnt.err
}

// train writes a run folder, as a training run would.
func train(path string) error {
	s, err := write(path, countConfig)
	if err != nil {
		return err
	}
	s.Seed = 1
	words := corpus.NewWords()
	text, err := corpus.RunningLines(counting(1, 600, 20), "the toy text", words)
	if err != nil {
		return err
	}
	made, err := language.New(s, words, device)
	if err != nil {
		return err
	}
	defer made.Free()
	const rows, count = 20, 16
	columns, err := corpus.NewColumns(text.IDs, count, "the toy text", "count")
	if err != nil {
		return err
	}
	scope := torch.OpenScope()
	defer scope.Close()
	adam := torch.NewAdam(made.Params.Tensors(), torch.AdamOptions{Beta1: 0.9, Beta2: 0.98, Epsilon: 1e-9})
	defer adam.Free()
	stream := torch.NewStream(1, "dropout")
	const steps = 200
	for step := range steps {
		row := step * rows % (columns.Rows - rows)
		inputs, targets := columns.Chunk(row, rows, 0, count)
		scope := torch.OpenScope()
		states, _ := made.Network.Forward(models.Chunk{IDs: inputs, Time: rows, Columns: count}, nil, stream)
		loss, _ := made.Output.Loss(states, torch.FromInt64s(targets, device, rows*count), 1.0/(rows*count))
		loss.Backward()
		adam.Step(0.03 * float64(steps-step) / steps)
		torch.ZeroGrad(made.Params.Tensors())
		scope.Close()
	}
	return save(path, made)
}

// save writes what a run folder holds beside its configuration.
func save(path string, made *language.Model) error {
	if err := language.SaveWords(made.Words, path); err != nil {
		return err
	}
	store := checkpoint.Store{Dir: filepath.Join(path, checkpoint.Folder)}
	if err := store.Save(1, []checkpoint.File{{Name: checkpoint.ModelFile, Write: func(w io.Writer) error {
		return torch.WriteSafetensors(w, made.Params.Map(), nil)
	}}}, nil); err != nil {
		return err
	}
	return store.MarkBest(1)
}
