package train

import (
	"fmt"

	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/models/parallel"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// languageTask is the task of predicting the next word of running text.
type languageTask struct {
	*language.Model // nil until it is built
	shared
	texts    *language.Texts
	original corpus.Columns // the training text as it is
	valid    corpus.Columns
}

// readLanguage reads texts whose words are those of the run in folder, where that has any.
func readLanguage(c experiment.Config, folder string, peers *parallel.Peers) (task, error) {
	read, err := experiment.ReadText(c.Data, folder)
	if err != nil {
		return nil, err
	}
	t := &languageTask{shared: shared{config: c, peers: peers}, texts: read}
	t.original, err = corpus.NewColumns(read.Train.IDs, c.Train.Columns, "the training text", "train.columns")
	if err != nil {
		return nil, err
	}
	t.valid, err = corpus.NewColumns(read.Valid.IDs, c.Train.ValidColumns, "the validation text", "train.valid_columns")
	if err != nil {
		return nil, err
	}
	for _, test := range read.Tests {
		if _, err := t.testColumns(test); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *languageTask) testColumns(test language.Text) (corpus.Columns, error) {
	return corpus.NewColumns(test.IDs, t.config.Train.TestColumns, "test text "+test.Name, "train.test_columns")
}

func (t *languageTask) sums() map[string]string { return t.texts.Sums }

func (t *languageTask) build(run *experiment.Run, fresh bool, d torch.Device) (n network, err error) {
	t.run = run
	if run != nil && fresh && !run.ReadOnly {
		if err := language.SaveWords(t.texts.Words, run.Dir); err != nil {
			return n, err
		}
	}
	if t.Model, err = language.New(t.config.Language(), t.texts.Words, d); err != nil {
		return n, err
	}
	return network{Params: t.Params, Output: t.Output, Device: t.Device}, t.setRecompute(t.Network)
}

func (t *languageTask) vocabularies() map[string]string {
	return map[string]string{"word": t.texts.Words.Hash()}
}

func (t *languageTask) warmStart(folder string) ([]checkpoint.Warning, error) {
	other, err := language.Load(folder, t.Device)
	if err != nil {
		return nil, err
	}
	defer other.Free()
	if other.Words.Hash() != t.Words.Hash() {
		return other.Warnings, fmt.Errorf("its vocabulary differs from this run's: " +
			"name the same texts with -train, -valid and -test")
	}
	return other.Warnings, network{Params: t.Params, Output: t.Output}.take(other.Params, other.Output)
}

func (t *languageTask) updates(from corpus.Position, carried map[string]torch.Tensor) (updates, error) {
	c := t.config.Train
	epochs := 0
	noise := func(epoch int) float64 { return t.config.Model.NoiseOfEpoch(epoch, epochs) }
	seed := uint64(c.Seed)
	u, err := t.Updates(t.original, c.ColumnSettings, c.Batches(), t.peers.Of(), seed, from, carried, noise)
	if err != nil {
		return nil, err
	}
	epochs = epochsOf(c, u)
	return u, nil
}

func (t *languageTask) size() string {
	return fmt.Sprintf("training text     %d tokens, in %d columns of %d",
		len(t.texts.Train.IDs), t.original.Count, t.original.Rows)
}

func (t *languageTask) corpus() string {
	return fmt.Sprintf("%d tokens to train on, %d to validate", len(t.texts.Train.IDs), len(t.texts.Valid.IDs))
}

func (t *languageTask) tokens() int { return (t.original.Rows - 1) * t.original.Count }

func (t *languageTask) introduce() []string {
	lines := []string{fmt.Sprintf("%s: %s; vocabulary: %d %s", t.config.Data.Name, t.corpus(), t.texts.Words.Len(),
		t.texts.Words.Unit())}
	if err := t.texts.Unkept; err != nil {
		lines = append(lines, fmt.Sprintf("each start reads the texts anew, since their ids cannot be kept: %v; "+
			"data.store names another folder", err))
	}
	return lines
}

func (t *languageTask) columns() int { return t.config.Train.Columns / t.config.Train.Batches() }

func (t *languageTask) reaches() float64 { return t.Settings.Reaches(t.columns()) }

func (t *languageTask) free() {
	if t.Model != nil {
		t.Free()
	}
}
