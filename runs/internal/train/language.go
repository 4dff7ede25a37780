package train

import (
	"fmt"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/report"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// languageTexts are the texts of a language model's run.
type languageTexts struct {
	config   experiment.Config
	texts    *experiment.Texts
	original corpus.Columns // the training text as it is
	valid    corpus.Columns
}

// readLanguage reads texts whose words are those of the run in folder, where that has any.
func readLanguage(c experiment.Config, folder string) (texts, error) {
	read, err := experiment.ReadTexts(c.Data, folder)
	if err != nil {
		return nil, err
	}
	t := &languageTexts{config: c, texts: read}
	if t.original, err = corpus.NewColumns(read.Train.IDs, c.Train.Columns, "the training text", "train.columns"); err != nil {
		return nil, err
	}
	if t.valid, err = corpus.NewColumns(read.Valid.IDs, c.Train.ValidColumns, "the validation text", "train.valid_columns"); err != nil {
		return nil, err
	}
	for _, test := range read.Tests {
		if _, err := t.testColumns(test); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *languageTexts) testColumns(test experiment.RunningText) (corpus.Columns, error) {
	return corpus.NewColumns(test.IDs, t.config.Train.TestColumns, "test text "+test.Name, "train.test_columns")
}

func (t *languageTexts) sums() map[string]string { return t.texts.Sums }

func (t *languageTexts) task(run *experiment.Run, fresh bool, d torch.Device) (task, error) {
	if run != nil && fresh {
		if err := language.SaveWords(t.texts.Words, run.Dir); err != nil {
			return nil, err
		}
	}
	model, err := language.New(t.config.Language(), t.texts.Words, d)
	if err != nil {
		return nil, err
	}
	return &languageTask{Model: model, languageTexts: t, run: run}, nil
}

// languageTask is the task of predicting the next word of running text.
type languageTask struct {
	*language.Model
	*languageTexts
	run   *experiment.Run // nil for a plan
	shown []report.Sample // of the best weights
}

func (t *languageTask) parts() network {
	return network{Params: t.Params, Output: t.Output, Device: t.Device}
}

func (t *languageTask) vocabularies() map[string]string {
	return map[string]string{"word": t.texts.Words.Hash()}
}

// warmStart takes the weights of another run, whose vocabulary must be the same.
func (t *languageTask) warmStart(folder string) ([]checkpoint.Warning, error) {
	other, err := language.Load(folder, t.Device)
	if err != nil {
		return nil, err
	}
	defer other.Free()
	if other.Words.Hash() != t.Words.Hash() {
		return other.Warnings, fmt.Errorf("its vocabulary differs from this run's: name the same texts with -train, -valid and -test")
	}
	return other.Warnings, t.Params.Load(other.Params.Map())
}

func (t *languageTask) updates(from corpus.Position, carried map[string]torch.Tensor) (updates, error) {
	c := t.config.Train
	reader, err := corpus.NewReader(t.original, c.ColumnSettings, uint64(c.Seed), from)
	if err != nil {
		return nil, err
	}
	u := &languageUpdates{task: t, reader: reader, states: make([]models.Carried, c.Accumulate)}
	for group := range u.states {
		for i := 0; ; i++ {
			x, found := carried[fmt.Sprintf("%d.%d", group, i)]
			if !found {
				break
			}
			x = x.Clone()
			torch.Keep(x)
			u.states[group] = append(u.states[group], x)
		}
	}
	return u, nil
}

// languageUpdates hands out chunks of the training text, cut into groups of columns.
type languageUpdates struct {
	task   *languageTask
	reader *corpus.Reader
	states []models.Carried // behind the last batch of each group
}

// carried are the states behind the last batch of each group. An epoch begins without any.
func (t *languageUpdates) carried() map[string]torch.Tensor {
	all := map[string]torch.Tensor{}
	if t.reader.Position().Batch == 0 {
		return all
	}
	for group, states := range t.states {
		for i, x := range states {
			all[fmt.Sprintf("%d.%d", group, i)] = x
		}
	}
	return all
}

func (t *languageUpdates) next() (update, error) {
	c, p := t.task.config, t.reader.Next()
	if p.First {
		t.close()
	}
	t.task.SetInputNoise(inputNoise(c.Model, p.Epoch, c.Train.Epochs))
	u := update{tokens: p.Span.Rows * p.Columns.Count, sentences: p.Columns.Count, rate: 1, position: p.Position}
	if lengths := c.Train.Lengths; lengths.Random {
		u.rate = float64(p.Span.Drawn) / float64(lengths.BPTT)
	}
	groups := len(t.states)
	for g := range groups {
		u.batches = append(u.batches, &columnGroup{t, p, g, g * p.Columns.Count / groups, (g + 1) * p.Columns.Count / groups})
	}
	return u, nil
}

func (t *languageUpdates) count(epochs int) int { return t.reader.Count(epochs) }

// close frees what was carried.
func (t *languageUpdates) close() {
	for g, states := range t.states {
		states.Free()
		t.states[g] = nil
	}
}

// columnGroup is a chunk of some neighbouring columns.
type columnGroup struct {
	updates            *languageUpdates
	passage            corpus.Passage
	group, first, last int
}

func (g *columnGroup) size() int { return g.passage.Span.Rows * (g.last - g.first) }

func (g *columnGroup) forward(dropout *torch.Stream) forwarded {
	t, columns, span := g.updates, g.passage.Columns, g.passage.Span
	inputs, targets := columns.Chunk(span.Row, span.Rows, g.first, g.last)
	states, next := t.task.Network.Forward(models.Chunk{IDs: inputs, Time: span.Rows, Columns: g.last - g.first}, t.states[g.group], dropout)
	next.Keep()
	t.states[g.group].Free()
	t.states[g.group] = next
	out := forwarded{states: states, targets: torch.FromInt64s(targets, t.task.Device, int64(len(targets)))}
	share := float64(g.last-g.first) / float64(columns.Count) // a term is a mean over the group's columns
	for _, term := range states.Terms {
		x := term.Value.MulScalar(term.Weight * share)
		if out.terms.Defined() {
			x = out.terms.Add(x)
		}
		out.terms = x
	}
	return out
}

func (t *languageTask) size() string {
	return fmt.Sprintf("training text     %d tokens, in %d columns of %d", len(t.texts.Train.IDs), t.original.Count, t.original.Rows)
}

func (t *languageTask) tokens() int { return (t.original.Rows - 1) * t.original.Count }

func (t *languageTask) introduce() []string {
	return []string{fmt.Sprintf("%s: %d tokens to train on, %d to validate; vocabulary: %d words", t.config.Data.Name, len(t.texts.Train.IDs), len(t.texts.Valid.IDs), t.texts.Words.Len())}
}

func (t *languageTask) activations() int64 {
	c := t.config.Train
	return t.Settings.Activations(c.BPTT * (c.Columns / c.Accumulate))
}

func (t *languageTask) free() { t.Free() }
