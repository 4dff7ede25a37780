package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/torch"
)

// lmRows are training steps of language models in their published sizes.
var lmRows = []row{
	{"lstm_step/ptb", "tokens_per_s", func(b *bench) (*race, error) { return b.lstm(pennTreebank) }},
	{"lstm_step/wikitext2", "tokens_per_s", func(b *bench) (*race, error) { return b.lstm(wikiText2) }},
}

// textNetwork is the size of an AWD-LSTM, and of the chunks that it reads.
type textNetwork struct {
	name           string
	vocabulary     int
	width, hidden  int
	layers         int
	columns, steps int
	noise          models.Noise
}

// The published models.
var (
	pennTreebank = textNetwork{"ptb", 10000, 400, 1150, 3, 20, 70,
		models.Noise{EmbeddingDropout: 0.1, InputDropout: 0.4, LayerDropout: 0.25, OutputDropout: 0.4, WeightDrop: 0.5, AR: 2, TAR: 1}}
	wikiText2 = textNetwork{"wikitext2", 33278, 400, 1150, 3, 80, 70,
		models.Noise{EmbeddingDropout: 0.1, InputDropout: 0.65, LayerDropout: 0.2, OutputDropout: 0.4, WeightDrop: 0.5, AR: 2, TAR: 1}}
)

// Settings of every step of a language model.
const (
	textRate  = 30
	textClip  = 0.25
	textDecay = 1.2e-6
)

// textChunk is a chunk of text and the words after each of its own.
type textChunk struct {
	input   models.Chunk
	targets []int64
}

// chunks are random words.
func (n textNetwork) chunks() []textChunk {
	random := rand.New(rand.NewPCG(1, 2))
	words := func() []int64 {
		ids := make([]int64, n.steps*n.columns)
		for i := range ids {
			ids[i] = int64(random.IntN(n.vocabulary))
		}
		return ids
	}
	all := make([]textChunk, differentBatches)
	for i := range all {
		all[i] = textChunk{models.Chunk{IDs: words(), Time: n.steps, Columns: n.columns}, words()}
	}
	return all
}

// textTrainer makes training steps of a language model.
type textTrainer struct {
	params  *torch.Params
	output  *objectives.Output
	model   models.LanguageModel
	dropout *torch.Stream
	carried models.Carried
	chunks  []textChunk
}

func newTextTrainer(r *race, n textNetwork, chunks []textChunk) (*textTrainer, error) {
	scope := torch.OpenScope()
	defer scope.Close()
	t := &textTrainer{params: &torch.Params{}, dropout: torch.NewStream(1, "dropout"), chunks: chunks}
	r.onClose(func() {
		t.carried.Free()
		t.params.Free()
	})
	settings := objectives.Defaults()
	settings.Bias = true
	stream := torch.NewStream(1, "init")
	var err error
	if t.output, err = objectives.New(settings, objectives.Place{Vocabulary: int64(n.vocabulary), Width: int64(n.width), Padding: -1,
		Params: t.params, Embedding: "encoder", Output: "decoder", Stream: stream, Device: torch.CPU}); err != nil {
		return nil, err
	}
	r.onClose(t.output.Free)
	t.model, err = models.NewAWDLSTM(models.AWDLSTMConfig{Width: n.width, Hidden: n.hidden, Layers: n.layers, Vocabulary: int64(n.vocabulary),
		Noise: n.noise, DType: torch.Float32}, t.output, t.params, stream, torch.CPU)
	return t, err
}

// update trains on chunk i.
func (t *textTrainer) update(i int) error {
	t.collect(i)
	params := t.params.Tensors()
	t.output.Penalize()
	torch.ClipGrad(params, textClip)
	torch.SGD(params, textRate, textDecay)
	torch.ZeroGrad(params)
	t.output.Constrain(textRate)
	return nil
}

// collect computes the gradients of a chunk and returns the mean loss of its words.
func (t *textTrainer) collect(i int) float64 {
	step := torch.OpenScope()
	defer step.Close()
	chunk := t.chunks[i]
	states, next := t.model.Forward(chunk.input, t.carried, t.dropout)
	n := len(chunk.targets)
	place := objectives.States{Hidden: states.Hidden, Columns: states.Columns, Time: make([]int64, n), Column: make([]int64, n)}
	for row := range n {
		place.Time[row], place.Column[row] = int64(row)/states.Columns, int64(row)%states.Columns
	}
	loss, nll := t.output.Loss(place, torch.FromInt64s(chunk.targets, torch.CPU, int64(n)), 1/float64(n))
	for _, term := range states.Terms {
		loss = loss.Add(term.Value.MulScalar(term.Weight))
	}
	loss.Backward()
	next.Keep()
	t.carried.Free()
	t.carried = next
	return nll.Mean().Item()
}

// lstm races whole updates of an AWD-LSTM against plain PyTorch.
func (b *bench) lstm(n textNetwork) (r *race, err error) {
	r = &race{pieces: differentBatches, warm: 2, measured: true, amount: func(int) float64 { return float64(n.steps * n.columns) }}
	defer r.closeOn(&err)
	chunks := n.chunks()
	ours, err := newTextTrainer(r, n, chunks)
	if err != nil {
		return nil, err
	}
	r.ours = here{work: ours.update}
	file, err := b.writeChunks(n.name, chunks)
	if err != nil {
		return nil, err
	}
	r.peer, err = b.startJSONPeer(r, "PyTorch", "awd_lstm.py", map[string]any{
		"vocab": n.vocabulary, "width": n.width, "hidden": n.hidden, "layers": n.layers, "chunks": file,
		"input": n.noise.InputDropout, "layer": n.noise.LayerDropout, "output": n.noise.OutputDropout, "embedding": n.noise.EmbeddingDropout,
		"weight": n.noise.WeightDrop, "ar": n.noise.AR, "tar": n.noise.TAR, "learning_rate": textRate, "clip": textClip, "decay": textDecay,
	})
	return r, err
}

// writeChunks writes chunks as the peer reads them.
func (b *bench) writeChunks(name string, chunks []textChunk) (string, error) {
	type rows struct {
		Input  [][]int64 `json:"input"`
		Target [][]int64 `json:"target"`
	}
	all := make([]rows, len(chunks))
	for i, c := range chunks {
		all[i] = rows{cut(c.input.IDs, c.input.Columns), cut(c.targets, c.input.Columns)}
	}
	data, err := json.Marshal(all)
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.folder, fmt.Sprintf("chunks-%s.json", name))
	return path, os.WriteFile(path, data, 0o666)
}
