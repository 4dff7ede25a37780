package train

import (
	"fmt"
	"sort"
	"strings"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/objectives/vectors"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/report"
	"github.com/aperture-ml/aperture/runs/internal/text"
	"github.com/aperture-ml/aperture/runs/internal/translator"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// translation is the task of translating sentences.
type translation struct {
	*translator.Translator // once built
	config                 experiment.Config
	data                   *data
	run                    *experiment.Run // nil for a plan
	loader                 *corpus.Loader
	epoch                  int             // of the next update
	shown                  []report.Sample // of the first test text
}

func newTranslation(c experiment.Config) (*translation, error) {
	texts, err := readData(c.Data)
	return &translation{config: c, data: texts}, err
}

func (t *translation) sums() map[string]string { return t.data.sums }

func (t *translation) build(run *experiment.Run, fresh bool, d torch.Device) (network, error) {
	c := t.config
	t.run = run
	pair, err := t.text(fresh)
	if err != nil {
		return network{}, err
	}
	if err := t.data.encode(pair, corpus.Limits{MaxLength: c.Data.MaxLength, MaxRatio: c.Data.MaxRatio}, c.Model.MaxPositions); err != nil {
		return network{}, err
	}
	if t.Translator, err = translator.New(c, pair, d); err != nil {
		return network{}, err
	}
	return network{Params: t.Params, Output: t.Output, Device: d, Vectors: aboutVectors(pair)}, nil
}

// text learns the vocabularies, or reads those of the run.
func (t *translation) text(fresh bool) (*text.Pair, error) {
	if !fresh {
		return translator.OpenText(t.config, t.run.Path(experiment.TokenizerDir))
	}
	pair, err := translator.LearnText(t.config, t.data.train.source, t.data.train.target)
	if err != nil || t.run == nil {
		return pair, err
	}
	return pair, translator.SaveText(pair, t.run.Path(experiment.TokenizerDir))
}

// aboutVectors is what results.json says of target vectors, nil where there are none.
func aboutVectors(p *text.Pair) *experiment.Vectors {
	v := p.Vectors
	if v == nil {
		return nil
	}
	return &experiment.Vectors{Source: v.Source, SHA256: experiment.Text(v.SHA256), Width: v.Width, Words: p.Target.Vocabulary.Len(), Unused: v.Unused, End: v.End}
}

func (t *translation) vocabularies() map[string]string {
	hashes := map[string]string{"source": t.Text.Source.Vocabulary.Hash(), "target": t.Text.Target.Vocabulary.Hash()}
	if t.Text.Vectors != nil {
		hashes["target vectors"] = t.Text.Vectors.Hash() // what the ids of the target stand for
	}
	return hashes
}

// warmStart takes the weights of another run, whose vocabularies must be the same.
func (t *translation) warmStart(folder string) ([]checkpoint.Warning, error) {
	other, warnings, err := translator.Open(folder, t.Device)
	if err != nil {
		return warnings, err
	}
	defer other.Free()
	if other.Text.Source.Vocabulary.Hash() != t.Text.Source.Vocabulary.Hash() || other.Text.Target.Vocabulary.Hash() != t.Text.Target.Vocabulary.Hash() {
		return warnings, fmt.Errorf("its vocabularies differ from this run's: give its files to data.codes, data.source_vocabulary and data.target_vocabulary")
	}
	return warnings, t.Params.Load(other.Params.Map())
}

func (t *translation) carried() map[string]torch.Tensor { return nil }

func (t *translation) start(from corpus.Position, _ map[string]torch.Tensor) error {
	c := t.config.Train
	var err error
	t.loader, err = corpus.NewLoader(t.data.trainPairs, corpus.Options{
		MaxTokens: c.MaxTokens, MaxSentences: c.MaxSentences, Accumulate: c.Accumulate, Seed: uint64(c.Seed),
	}, from)
	t.epoch = from.Epoch
	return err
}

// epochs counts the epochs that the run may begin, 0 where it has no end.
func (t *translation) epochs() int {
	n := t.config.Train.Epochs
	if steps, each := t.config.Train.Steps, t.loader.UpdatesPerEpoch(); steps > 0 {
		if begun := (steps + each - 1) / each; n == 0 || begun < n {
			n = begun
		}
	}
	return n
}

func (t *translation) next() (update, error) {
	t.Model.InputNoise = inputNoise(t.config.Model, t.epoch, t.epochs())
	u, err := t.loader.Next()
	t.epoch = u.Position.Epoch
	out := update{tokens: u.Tokens, sentences: u.Sentences, rate: 1, position: u.Position}
	for _, b := range u.Batches {
		out.batches = append(out.batches, pairs{t.Translator, b})
	}
	return out, err
}

func (t *translation) updates(epochs int) int { return epochs * t.loader.UpdatesPerEpoch() }

// pairs is a batch of sentence pairs.
type pairs struct {
	*translator.Translator
	*corpus.Batch
}

func (p pairs) size() int { return p.Tokens }

func (p pairs) forward(dropout *torch.Stream) forwarded {
	states := p.Model.Forward(source(p.Batch), prev(p.Batch), dropout)
	return forwarded{states: translator.OutputStates(states, p.Rows), targets: targets(p.Batch, p.Device)}
}

func source(b *corpus.Batch) models.Tokens {
	return models.Tokens{IDs: b.Source, Rows: b.Rows, Width: b.S}
}

func prev(b *corpus.Batch) models.Tokens {
	return models.Tokens{IDs: b.Prev, Rows: b.Rows, Width: b.T}
}

// targets are the ids of real target tokens [N], in the order of the states' rows.
func targets(b *corpus.Batch, d torch.Device) torch.Tensor {
	ids := make([]int64, 0, b.Tokens)
	for _, id := range b.Target {
		if id != corpus.Pad {
			ids = append(ids, id)
		}
	}
	return torch.FromInt64s(ids, d, int64(len(ids)))
}

func (t *translation) size() string {
	return fmt.Sprintf("training pairs    %d (%d target tokens)", len(t.data.trainPairs), t.tokens())
}

// tokens counts the target tokens of an epoch, ends of sentences included.
func (t *translation) tokens() int {
	n := 0
	for _, p := range t.data.trainPairs {
		n += len(p.Target) + 1
	}
	return n
}

func (t *translation) introduce() []string {
	c := t.config
	lines := []string{
		fmt.Sprintf("%s: %s", c.Data.Name, t.data.filtered),
		fmt.Sprintf("vocabulary: %d %s, %d %s types", t.Text.Source.Vocabulary.Len(), c.Data.Source, t.Text.Target.Vocabulary.Len(), c.Data.Target),
	}
	if v := t.Text.Vectors; v != nil {
		lines = append(lines, vectorLines(v, t.Text.Target.Vocabulary)...)
	}
	var missing []string
	for name, off := range map[string]bool{
		"objective.label_smoothing": c.Objective.LabelSmoothing == 0 && t.Text.Vectors == nil, "schedule.warmup": c.Schedule.Warmup == 0,
		"train.average_last or train.ema_decay": c.Train.AverageLast == 0 && c.Train.EMADecay == 0,
	} {
		if off {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		sort.Strings(missing)
		lines = append(lines, fmt.Sprintf("a Transformer usually gains from %s, which this configuration has at 0", strings.Join(missing, " and ")))
	}
	return lines
}

// vectorLines says which vectors a method aims at. The one of </s> decides where sentences end:
// where a file brings it, the words next to it are worth a look.
func vectorLines(v *vectors.Table, words *tokenize.Vocabulary) []string {
	line := fmt.Sprintf("target vectors: %d numbers, made from the training text", v.Width)
	if v.SHA256 != "" {
		line = fmt.Sprintf("target vectors: %d numbers, read from %s, where %d words are not of the training text; their mean is that of <unk>", v.Width, v.Source, v.Unused)
	}
	if v.End != vectors.FromFile {
		return []string{line}
	}
	var near []string
	for _, n := range v.Nearest(tokenize.EOS, 5) {
		near = append(near, fmt.Sprintf("%s %.2f", words.Token(n.ID), n.Cosine))
	}
	return []string{line, "the file has a vector for the end of a sentence, near " + strings.Join(near, ", ")}
}

// activations counts about 16 vectors of the model's width and 2 of the inner
// width for each token and layer of an encoder, half as much again for a decoder.
func (t *translation) activations() int64 {
	m := t.config.Model
	layer := int64(16*m.Width + 2*m.FFNWidth)
	return int64(t.config.Train.MaxTokens) * layer * int64(2*m.EncoderLayers+3*m.DecoderLayers) / 2
}

func (t *translation) free() {
	if t.loader != nil {
		t.loader.Close()
	}
	if t.Translator != nil {
		t.Translator.Free()
	}
}
