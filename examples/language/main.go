// Command language trains a small language model, whose output layer -method chooses, on a text of its own. It uses the
// packages alone: vocabulary, network, output layer and loop stand below.
//
//	go run ./examples/language -text words.txt -method spectrum -updates 200
//
// runs/ptb does the same with validation, schedules, checkpoints and a report.
package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// Legend: N words of a batch, V words of the vocabulary, D width.

func main() {
	text := flag.String("text", "", "file of words separated by spaces")
	method := flag.String("method", "mle", "output layer, as in -method of runs/ptb")
	updates := flag.Int("updates", 200, "steps of the optimizer")
	flag.Parse()
	if *text == "" {
		fmt.Fprintln(os.Stderr, "-text FILE is missing")
		os.Exit(2)
	}
	raw, err := os.ReadFile(*text)
	if err == nil {
		err = torch.Main(func() error { return train(string(raw), *method, *updates, os.Stdout) })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const (
	columns = 10 // pieces of the text that are read side by side
	steps   = 20 // words of each column that an update reads
	width   = 64 // of word vectors
	rate    = 0.003
)

func train(text, method string, updates int, out io.Writer) error {
	// Words become numbers.
	words := corpus.NewWords()
	var ids []int32
	for line := range strings.Lines(text) {
		for _, word := range append(strings.Fields(line), corpus.EndOfLine) {
			id, _ := words.ID(word)
			ids = append(ids, id)
		}
	}
	batches, err := corpus.NewColumns(ids, columns, "the text", "columns")
	if err != nil {
		return err
	}
	scope := torch.OpenScope() // owns the model
	defer scope.Close()
	// The output layer holds the word vectors W [V,D]; the network reads them, and ends at hidden states [N,D].
	settings, params := language.Defaults(), &torch.Params{}
	settings.Objective.Method = method
	settings.Objective.Set("label_smoothing", 0)
	output, err := objectives.New(settings.Objective, objectives.Config{
		Vocabulary: int64(words.Len()), Width: width, Padding: -1, Uniform: 0.1,
		Params: params, Embedding: "embedding", Output: "output", Stream: torch.NewStream(1, "init"),
	})
	if err != nil {
		return err
	}
	defer output.Free()
	defer params.Free()
	sizes := models.Config{Settings: settings.Model, Vocabulary: int64(words.Len()), DType: torch.Float32}
	sizes.Layers, sizes.Width, sizes.Hidden = 1, width, width
	network, err := models.NewAWDLSTM(sizes, output, params, torch.NewStream(1, "init"), torch.CPU)
	if err != nil {
		return err
	}
	adam := torch.NewAdam(params.Tensors(), torch.AdamOptions{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8})
	defer adam.Free()

	dropout, carried := torch.NewStream(1, "dropout"), models.Carried(nil)
	for update, row := 1, 0; update <= updates; update++ {
		n := min(steps, batches.Rows-1-row)
		inputs, targets := batches.Chunk(row, n, 0, columns)
		step := torch.OpenScope() // owns every tensor made below
		states, next := network.Forward(models.Chunk{IDs: inputs, Time: n, Columns: columns}, carried, dropout)
		targets_N := torch.FromInt64s(targets, torch.CPU, int64(len(targets)))
		loss, nll_N := output.Loss(states, targets_N, 1/float64(len(targets)))
		loss.Backward()
		nll := nll_N.Sum().Item() / float64(len(targets)) // without smoothing, perturbation and penalties
		next.Keep()
		carried.Free()
		carried = next
		output.Penalize() // what W itself pays
		output.ClipGrad(params.Tensors(), 1)
		adam.Step(rate)
		torch.ZeroGrad(params.Tensors())
		output.Constrain(rate) // what W must obey
		step.Close()           // frees the step
		if row += n; row == batches.Rows-1 {
			row = 0
			carried.Free()
			carried = nil
		}
		if update%50 == 0 || update == updates {
			fmt.Fprintf(out, "update %d: perplexity %.1f\n", update, math.Exp(nll))
		}
	}
	carried.Free()
	return nil
}
