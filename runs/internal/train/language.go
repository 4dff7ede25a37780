package train

import (
	"fmt"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/language"
	"github.com/aperture-ml/aperture/runs/internal/report"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// languageModel is the task of predicting the next word of running text.
type languageModel struct {
	*language.Model // once built
	config          experiment.Config
	texts           *language.Texts
	run             *experiment.Run // nil for a plan
	shown           []report.Sample // of the best weights

	original corpus.Columns // the training text as it is
	valid    corpus.Columns
	lengths  corpus.Lengths
	ends     []int // updates of the first epochs: of none, of one ...

	at      corpus.Position // after the last update that was handed out
	columns corpus.Columns  // of the position's epoch
	spans   []corpus.Span   // of the position's epoch
	states  []models.Carried
}

func newLanguageModel(c experiment.Config, folder string) (*languageModel, error) {
	texts, err := language.ReadTexts(c.Data, folder)
	if err != nil {
		return nil, err
	}
	t := &languageModel{config: c, texts: texts, states: make([]models.Carried, c.Train.Accumulate), ends: []int{0}}
	t.lengths = corpus.Lengths{BPTT: c.Train.BPTT, Random: c.Train.BPTTRandom, Longest: c.Train.BPTTLongest, Seed: uint64(c.Train.Seed)}
	if t.original, err = corpus.NewColumns(texts.Train.IDs, c.Train.Columns, "the training text", "train.columns"); err != nil {
		return nil, err
	}
	if t.valid, err = corpus.NewColumns(texts.Valid.IDs, c.Train.ValidColumns, "the validation text", "train.valid_columns"); err != nil {
		return nil, err
	}
	for _, test := range texts.Tests {
		if _, err := t.testColumns(test); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *languageModel) testColumns(test language.Text) (corpus.Columns, error) {
	return corpus.NewColumns(test.IDs, t.config.Train.TestColumns, "test text "+test.Name, "train.test_columns")
}

func (t *languageModel) sums() map[string]string { return t.texts.Sums }

func (t *languageModel) build(run *experiment.Run, fresh bool, d torch.Device) (network, error) {
	t.run = run
	if run != nil && fresh {
		if err := language.SaveWords(t.texts.Words, run.Dir); err != nil {
			return network{}, err
		}
	}
	var err error
	if t.Model, err = language.New(t.config, t.texts.Words, d); err != nil {
		return network{}, err
	}
	return network{Params: t.Params, Output: t.Output, Device: d}, nil
}

func (t *languageModel) vocabularies() map[string]string {
	return map[string]string{"word": t.texts.Words.Hash()}
}

// warmStart takes the weights of another run, whose vocabulary must be the same.
func (t *languageModel) warmStart(folder string) ([]checkpoint.Warning, error) {
	other, warnings, err := language.Open(folder, t.Device)
	if err != nil {
		return warnings, err
	}
	defer other.Free()
	if other.Words.Hash() != t.Words.Hash() {
		return warnings, fmt.Errorf("its vocabulary differs from this run's: name the same texts with -train, -valid and -test")
	}
	return warnings, t.Params.Load(other.Params.Map())
}

// carried are the states behind the last batch of each group of columns. An epoch
// begins without any.
func (t *languageModel) carried() map[string]torch.Tensor {
	all := map[string]torch.Tensor{}
	if t.at.Batch == 0 {
		return all
	}
	for group, states := range t.states {
		for i, x := range states {
			all[fmt.Sprintf("%d.%d", group, i)] = x
		}
	}
	return all
}

func (t *languageModel) start(from corpus.Position, carried map[string]torch.Tensor) error {
	t.at = from
	t.enter(from.Epoch)
	if from.Batch > len(t.spans) {
		return fmt.Errorf("training cannot go on after update %d of epoch %d, which has %d: use the text that the checkpoint was made with", from.Batch, from.Epoch, len(t.spans))
	}
	for group := range t.states {
		for i := 0; ; i++ {
			x, found := carried[fmt.Sprintf("%d.%d", group, i)]
			if !found {
				break
			}
			x = x.Clone()
			torch.Keep(x)
			t.states[group] = append(t.states[group], x)
		}
	}
	return nil
}

// enter lays out an epoch.
func (t *languageModel) enter(epoch int) {
	c := t.config
	t.spans = t.lengths.Epoch(t.original.Rows, epoch)
	t.columns = t.original
	if c.Train.PartialShuffle {
		t.columns = t.original.Shuffled(uint64(c.Train.Seed), epoch)
	}
	t.SetInputNoise(inputNoise(c.Model, epoch, c.Train.Epochs))
}

func (t *languageModel) next() (update, error) {
	if t.at.Batch == 0 {
		t.enter(t.at.Epoch)
		t.forget()
	}
	span := t.spans[t.at.Batch]
	if t.at.Batch++; t.at.Batch == len(t.spans) {
		t.at = corpus.Position{Epoch: t.at.Epoch + 1}
	}
	u := update{tokens: span.Rows * t.columns.Count, sentences: t.columns.Count, rate: 1, position: t.at}
	if t.lengths.Random {
		u.rate = float64(span.Drawn) / float64(t.lengths.BPTT)
	}
	groups := len(t.states)
	for g := range groups {
		u.batches = append(u.batches, &columnGroup{t, span, g, g * t.columns.Count / groups, (g + 1) * t.columns.Count / groups})
	}
	return u, nil
}

// updates counts those of the first epochs.
func (t *languageModel) updates(epochs int) int {
	for done := len(t.ends) - 1; done < epochs; done++ {
		t.ends = append(t.ends, t.ends[done]+len(t.lengths.Epoch(t.original.Rows, done)))
	}
	return t.ends[epochs]
}

// forget frees what was carried.
func (t *languageModel) forget() {
	for g, states := range t.states {
		states.Free()
		t.states[g] = nil
	}
}

// columnGroup is a chunk of some neighbouring columns.
type columnGroup struct {
	task               *languageModel
	span               corpus.Span
	group, first, last int
}

func (g *columnGroup) size() int { return g.span.Rows * (g.last - g.first) }

func (g *columnGroup) forward(dropout *torch.Stream) forwarded {
	t := g.task
	inputs, targets := t.columns.Chunk(g.span.Row, g.span.Rows, g.first, g.last)
	states, next := t.Network.Forward(models.Chunk{IDs: inputs, Time: g.span.Rows, Columns: g.last - g.first}, t.states[g.group], dropout)
	next.Keep()
	t.states[g.group].Free()
	t.states[g.group] = next
	out := forwarded{states: language.OutputStates(states), targets: torch.FromInt64s(targets, t.Device, int64(len(targets)))}
	share := float64(g.last-g.first) / float64(t.columns.Count) // a term is a mean over the group's columns
	for _, term := range states.Terms {
		x := term.Value.MulScalar(term.Weight * share)
		if out.terms.Defined() {
			x = out.terms.Add(x)
		}
		out.terms = x
	}
	return out
}

func (t *languageModel) size() string {
	return fmt.Sprintf("training text     %d tokens, in %d columns of %d", len(t.texts.Train.IDs), t.original.Count, t.original.Rows)
}

func (t *languageModel) tokens() int { return (t.original.Rows - 1) * t.original.Count }

func (t *languageModel) introduce() []string {
	return []string{fmt.Sprintf("%s: %d tokens to train on, %d to validate; vocabulary: %d words", t.config.Data.Name, len(t.texts.Train.IDs), len(t.texts.Valid.IDs), t.texts.Words.Len())}
}

// activations counts, for each token and layer, the input, four gates, the cell,
// its tanh, the output and a mask.
func (t *languageModel) activations() int64 {
	c := t.config
	perToken := int64(4 * c.Model.Width)
	if c.Model.Kind == "transformer-xl" { // as a layer of a Transformer's encoder
		perToken += int64(c.Model.Layers * (16*c.Model.Width + 2*c.Model.FFNWidth))
		return perToken * int64(c.Train.BPTT) * int64(c.Train.Columns/c.Train.Accumulate)
	}
	for i := range c.Model.Layers {
		h := int64(c.Model.Hidden)
		if i == c.Model.Layers-1 {
			h = int64(max(c.Model.LastHidden, c.Model.Width))
		}
		perToken += 9 * h
	}
	return perToken * int64(c.Train.BPTT) * int64(c.Train.Columns/c.Train.Accumulate)
}

func (t *languageModel) free() {
	t.forget()
	if t.Model != nil {
		t.Model.Free()
	}
}
