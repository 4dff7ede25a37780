package train

import (
	"fmt"
	"path/filepath"

	"github.com/aperture-ml/aperture/models/parallel"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/runs/internal/report"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// translationTask is the task of translating sentences.
type translationTask struct {
	*translation.Translator // nil until it is built
	shared
	data  *bitext.Texts
	from  string         // folder of the run that a plan goes on with, where it has vocabularies
	suits string         // says how well another run's vocabulary suits the training text, where one was taken
	same  string         // says so, where most translations of a test text are the same
	seen  map[string]int // how often training has each word of the target, once that was asked for
	shown []report.Sample
}

func readTranslation(c experiment.Config, from string, peers *parallel.Peers) (task, error) {
	data, err := c.Data.ReadPairs()
	return &translationTask{shared: shared{config: c, peers: peers}, data: data, from: from}, err
}

func (t *translationTask) sums() map[string]string { return t.data.Sums }

func (t *translationTask) build(run *experiment.Run, fresh bool, d torch.Device) (n network, err error) {
	t.run = run
	pair, err := t.text(fresh)
	if err != nil {
		return n, err
	}
	if fresh && t.config.Train.Init != "" && run != nil && !run.ReadOnly {
		source, target, err := pair.Cover(t.data.Train)
		if err != nil {
			return n, err
		}
		t.suits = fmt.Sprintf("the vocabulary is that of other text: %s; %s", source, target)
	}
	if err := t.data.Encode(pair, t.config.Data.Limits, t.config.Model.MaxPositions); err != nil {
		return n, err
	}
	if t.Translator, err = translation.New(t.config.Translation(), pair, d); err != nil {
		return n, err
	}
	n = network{Params: t.Params, Output: t.Output, Device: t.Device}
	if v := pair.Vectors; v != nil {
		n.Vectors = &record.Vectors{Source: v.Source, SHA256: record.Text(v.SHA256), Width: v.Width,
			Words: pair.Target.Vocabulary.Len(), Unused: v.Unused, End: v.End}
	}
	return n, t.setRecompute(t.Network)
}

// text learns the vocabularies, or reads those of the run, or of the one that it starts from.
func (t *translationTask) text(fresh bool) (*bitext.Sides, error) {
	settings, init := t.config.Translation(), t.config.Train.Init
	switch {
	case !fresh:
		return translation.OpenText(settings, t.run.Path(experiment.TokenizerDir))
	case t.run == nil && t.from != "":
		return translation.OpenText(settings, filepath.Join(t.from, experiment.TokenizerDir))
	case init != "" && t.run != nil && !t.run.ReadOnly:
		if err := keepTokenizer(init, t.run); err != nil {
			return nil, err
		}
		fallthrough
	case init != "":
		return translation.OpenText(settings, filepath.Join(init, experiment.TokenizerDir))
	}
	pair, err := translation.LearnText(settings, t.data.Train, t.data.Cache)
	if err != nil || t.run == nil || t.run.ReadOnly {
		return pair, err
	}
	files, err := t.run.Files()
	if err != nil {
		return nil, err
	}
	if pair.Vectors != nil {
		pair.Vectors.SHA256 = files["objective.vectors"]
	}
	return pair, translation.SaveText(pair, t.run.Path(experiment.TokenizerDir))
}

func (t *translationTask) vocabularies() map[string]string {
	hashes := map[string]string{"source": t.Text.Source.Vocabulary.Hash(), "target": t.Text.Target.Vocabulary.Hash()}
	if t.Text.Vectors != nil {
		hashes["target vectors"] = t.Text.Vectors.Hash() // what the ids of the target stand for
	}
	return hashes
}

func (t *translationTask) warmStart(folder string) ([]checkpoint.Warning, error) {
	other, err := translation.Load(folder, t.Device)
	if err != nil {
		return nil, err
	}
	defer other.Free()
	return other.Warnings, network{Params: t.Params, Output: t.Output}.take(other.Params, other.Output)
}

func (t *translationTask) updates(from corpus.Position, _ map[string]torch.Tensor) (updates, error) {
	c := t.config.Train
	options := corpus.Options{
		BatchSettings: c.BatchSettings, Accumulate: c.Batches(), Seed: uint64(c.Seed), Share: t.peers.Of(),
	}
	epochs := 0
	noise := func(epoch int) float64 { return t.config.Model.NoiseOfEpoch(epoch, epochs) }
	u, err := t.Updates(t.data.TrainPairs, options, from, noise)
	if err != nil {
		return nil, err
	}
	epochs = epochsOf(c, u)
	return u, nil
}

func (t *translationTask) size() string {
	d, m, c := t.config.Data, t.config.Model, t.config.Train
	return fmt.Sprintf("training pairs    %d (%d target tokens)\nsettings          "+
		"preset %s: %d merges, %d and %d layers of width %d, dropout %g, steps of %d tokens",
		t.data.TrainPairs.Len(), t.tokens(), t.config.Preset, d.Merges, m.EncoderLayers, m.DecoderLayers, m.Width,
		m.Dropout, c.MaxTokens*c.Batches())
}

func (t *translationTask) corpus() string {
	tests := 0
	for _, s := range t.data.Tests {
		tests += len(s.Source)
	}
	return fmt.Sprintf("%s to %s, %d pairs to train on, %d to validate, %d to test",
		t.config.Data.Source, t.config.Data.Target, t.data.TrainPairs.Len(), t.data.ValidPairs.Len(), tests)
}

func (t *translationTask) tokens() int { return t.data.Filtered.Tokens }

func (t *translationTask) introduce() []string {
	d, source, target := t.config.Data, t.Text.Source.Vocabulary, t.Text.Target.Vocabulary
	lines := append(t.data.About(), fmt.Sprintf("%s: %s", d.Name, t.data.Filtered),
		fmt.Sprintf("vocabulary: %d %s, %d %s types", source.Len(), d.Source, target.Len(), d.Target))
	if t.suits != "" {
		lines = append(lines, t.suits)
	}
	if v := t.Text.Vectors; v != nil {
		lines = append(lines, v.Describe(target)...)
	}
	return lines
}

func (t *translationTask) reaches() float64 { return t.Settings.Reaches() }

func (t *translationTask) free() {
	if t.Translator != nil {
		t.Free()
	}
	t.data.Close()
}
