package train

import (
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/report"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// task is what a run learns to do. It has the texts, the network that reads them
// and the scores; all else is the trainer's: run folder, checkpoints, schedule,
// penalties, clipping, optimizer, averages, stopping, measures, log and report.
type task interface {
	// sums are the SHA-256 of the texts by file.
	sums() map[string]string
	// build makes the network with fresh weights. A fresh run learns its
	// vocabulary and writes it to the run folder, where one that goes on finds it.
	// Without a run, for a plan, nothing is written.
	build(run *experiment.Run, fresh bool, d torch.Device) (network, error)
	// vocabularies are hashes by name: another vocabulary gives ids another meaning.
	vocabularies() map[string]string
	// warmStart takes the weights of another run, and returns what it has to say.
	warmStart(folder string) ([]checkpoint.Warning, error)
	// carried are tensors by name that go from one batch to the next and belong in
	// a checkpoint. Those of a checkpoint are handed to start.
	carried() map[string]torch.Tensor
	// start begins to hand out updates at a position, with what was carried there.
	start(from corpus.Position, carried map[string]torch.Tensor) error

	// next gives the batches of the next update.
	next() (update, error)
	// updates counts the updates of the first epochs.
	updates(epochs int) int

	// validNLL is the clean loss of the validation text in nats per token.
	validNLL() float64
	// validate scores the validation text.
	validate() (validation, error)
	// tests names the test texts, and test scores one of them.
	tests() []string
	test(name string) (experiment.TestScores, error)
	// samples are what the report shows of the network's output.
	samples() []report.Sample

	// size says how much text there is, tokens how much of it an epoch trains on,
	// and introduce what is worth knowing before training.
	size() string
	tokens() int
	introduce() []string
	// activations estimates the numbers that a batch keeps for its backward pass.
	activations() int64

	free()
}

// network is what is trained.
type network struct {
	Params *torch.Params
	Output *objectives.Output
	Device torch.Device
	// Vectors are the target vectors of a method that aims at some, else nil.
	Vectors *experiment.Vectors
}

// update is what one optimizer step works on.
type update struct {
	batches   []batch
	tokens    int             // target tokens of all batches
	sentences int             // rows of all batches
	rate      float64         // factor on the learning rate
	position  corpus.Position // after it
}

// batch is a piece of an update that goes through the network at once.
type batch interface {
	// forward runs the network. A batch is forwarded once.
	forward(dropout *torch.Stream) forwarded
	// size is the number of its targets.
	size() int
}

// forwarded is what the output layer scores.
type forwarded struct {
	states  objectives.States
	targets torch.Tensor // [N] int64
	terms   torch.Tensor // what the network itself adds to the loss; the zero Tensor is nothing
}

// validation is what a task finds on its validation text.
type validation struct {
	nll     float64
	bleu    *float64 // nil: not measured
	score   float64  // chooses the best checkpoint: the smaller the better
	samples string   // some of the output, or empty
}
