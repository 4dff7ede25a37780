package train

import (
	"fmt"

	"github.com/aperture-ml/aperture/models/parallel"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/report"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// translationTexts are the texts of a translator's run.
type translationTexts struct {
	config experiment.Config
	data   *bitext.Texts
	peers  *parallel.Peers
}

func readTranslation(c experiment.Config, peers *parallel.Peers) (texts, error) {
	data, err := c.Data.ReadPairs()
	return &translationTexts{c, data, peers}, err
}

func (t *translationTexts) sums() map[string]string { return t.data.Sums }

func (t *translationTexts) task(run *experiment.Run, fresh bool, d torch.Device) (task, error) {
	c, settings := t.config, t.config.Translation()
	pair, err := t.text(run, fresh)
	if err != nil {
		return nil, err
	}
	if err := t.data.Encode(pair, c.Data.Limits, c.Model.MaxPositions); err != nil {
		return nil, err
	}
	translator, err := translation.New(settings, pair, d)
	if err != nil {
		return nil, err
	}
	return &translationTask{Translator: translator, config: c, data: t.data, run: run, peers: t.peers}, nil
}

// text learns the vocabularies, or reads those of the run.
func (t *translationTexts) text(run *experiment.Run, fresh bool) (*bitext.Pair, error) {
	settings := t.config.Translation()
	if !fresh {
		return translation.OpenText(settings, run.Path(experiment.TokenizerDir))
	}
	pair, err := translation.LearnTexts(settings, t.data)
	if err != nil || run == nil || run.ReadOnly {
		return pair, err
	}
	files, err := run.Files()
	if err != nil {
		return nil, err
	}
	if pair.Vectors != nil {
		pair.Vectors.SHA256 = files["objective.vectors"]
	}
	return pair, translation.SaveText(pair, run.Path(experiment.TokenizerDir))
}

// translationTask is the task of translating sentences.
type translationTask struct {
	*translation.Translator
	config experiment.Config
	data   *bitext.Texts
	run    *experiment.Run // nil for a plan
	peers  *parallel.Peers
	shown  []report.Sample // of the first test text
	same   string          // says so, where most translations of a test text are the same
	seen   map[string]int  // how often training has each word of the target, once that was asked for
}

func (t *translationTask) parts() network {
	return network{Params: t.Params, Output: t.Output, Device: t.Device, Vectors: aboutVectors(t.Text)}
}

// aboutVectors is what results.json says of target vectors, nil where there are none.
func aboutVectors(p *bitext.Pair) *experiment.Vectors {
	v := p.Vectors
	if v == nil {
		return nil
	}
	return &experiment.Vectors{Source: v.Source, SHA256: experiment.Text(v.SHA256), Width: v.Width, Words: p.Target.Vocabulary.Len(), Unused: v.Unused, End: v.End}
}

func (t *translationTask) vocabularies() map[string]string {
	hashes := map[string]string{"source": t.Text.Source.Vocabulary.Hash(), "target": t.Text.Target.Vocabulary.Hash()}
	if t.Text.Vectors != nil {
		hashes["target vectors"] = t.Text.Vectors.Hash() // what the ids of the target stand for
	}
	return hashes
}

// warmStart takes the weights of another run, whose vocabularies must be the same.
func (t *translationTask) warmStart(folder string) ([]checkpoint.Warning, error) {
	other, err := translation.Load(folder, t.Device)
	if err != nil {
		return nil, err
	}
	defer other.Free()
	if err := t.SameText(other); err != nil {
		return other.Warnings, err
	}
	return other.Warnings, t.Params.Load(other.Params.Map())
}

func (t *translationTask) updates(from corpus.Position, _ map[string]torch.Tensor) (updates, error) {
	c := t.config.Train
	options := corpus.Options{BatchSettings: c.BatchSettings, Accumulate: c.Batches(), Seed: uint64(c.Seed), Share: t.peers.Of()}
	// The noise falls over the epochs that the run may begin, 0 where it has no end.
	epochs := c.Epochs
	u, err := t.Updates(t.data.TrainPairs, options, from, func(epoch int) float64 { return t.config.Model.NoiseOfEpoch(epoch, epochs) })
	if err != nil {
		return nil, err
	}
	if each := u.Count(1); c.Steps > 0 {
		if begun := (c.Steps + each - 1) / each; epochs == 0 || begun < epochs {
			epochs = begun
		}
	}
	return u, nil
}

func (t *translationTask) size(steps int) string {
	d, m, c := t.config.Data, t.config.Model, t.config.Train
	return fmt.Sprintf("training pairs    %d (%d target tokens)\nsettings          preset %s: %d merges, %d and %d layers of width %d, dropout %g, %d steps of %d tokens",
		t.data.TrainPairs.Len(), t.tokens(), t.config.Preset, d.Merges, m.EncoderLayers, m.DecoderLayers, m.Width, m.Dropout, steps, c.MaxTokens*c.Accumulate)
}

func (t *translationTask) corpus() string {
	tests := 0
	for _, s := range t.data.Tests {
		tests += len(s.Source)
	}
	return fmt.Sprintf("%s to %s, %d pairs to train on, %d to validate, %d to test", t.config.Data.Source, t.config.Data.Target, t.data.TrainPairs.Len(), t.data.ValidPairs.Len(), tests)
}

func (t *translationTask) tokens() int { return t.data.Filtered.Tokens }

func (t *translationTask) introduce() []string {
	c := t.config
	lines := append(t.data.About(),
		fmt.Sprintf("%s: %s", c.Data.Name, t.data.Filtered),
		fmt.Sprintf("vocabulary: %d %s, %d %s types", t.Text.Source.Vocabulary.Len(), c.Data.Source, t.Text.Target.Vocabulary.Len(), c.Data.Target))
	if v := t.Text.Vectors; v != nil {
		lines = append(lines, v.Describe(t.Text.Target.Vocabulary)...)
	}
	return lines
}

func (t *translationTask) activations() int64 {
	return t.Settings.Activations(t.config.Train.MaxTokens)
}

func (t *translationTask) free() {
	t.Free()
	t.data.Close()
}

func (t *translationTask) reaches() float64 { return t.Settings.Reaches() }
