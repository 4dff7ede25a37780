package train

import (
	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/report"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// texts are what a run learns from. They are read before its folder is made, so that what is wrong with them leaves
// nothing behind.
type texts interface {
	// sums are the SHA-256 of the texts by file.
	sums() map[string]string
	// task makes the task with fresh weights, ready to train. A fresh run learns its vocabulary and writes it to the run
	// folder, where one that goes on finds it. Without a run, for a plan, nothing is written.
	task(run *experiment.Run, fresh bool, d torch.Device) (task, error)
}

// task is what a run learns to do: data, updates from a position on, and scores. All else is the trainer's: run folder,
// checkpoints, schedule, penalties, clipping, optimizer, averages, stopping, measures, log and report.
type task interface {
	data
	scores
	parts() network
	// updates hands out updates from a position on, with the tensors that a checkpoint has of what was carried there.
	updates(from corpus.Position, carried map[string]torch.Tensor) (updates, error)
	// warmStart takes the weights of another run, and returns what it has to say.
	warmStart(folder string) ([]checkpoint.Warning, error)
	free()
}

// data says what is trained on.
type data interface {
	// vocabularies are hashes by name: another vocabulary gives ids another meaning.
	vocabularies() map[string]string
	// size says how much text there is, and of what size a run of the given number of steps is, tokens how much of it an epoch trains on, and introduce what is worth knowing before
	// training.
	size(steps int) string
	tokens() int
	// corpus says in a few words what the texts are: languages and numbers of pairs, or numbers of tokens.
	corpus() string
	introduce() []string
	// activations estimates the numbers that a batch keeps for its backward pass.
	activations() int64
	// reaches is the share of a large product's rate at which training computes.
	reaches() float64
}

// updates is a source of updates.
type updates interface {
	// Next gives the batches of the next update.
	Next() (models.Update, error)
	// Count counts the updates of the first epochs.
	Count(epochs int) int
	// Rehearse runs the network on a batch of one target, and gives states and targets.
	Rehearse(dropout *torch.Stream) (torch.States, torch.Tensor)
	// Carried are tensors by name that go from one batch to the next and belong in a checkpoint.
	Carried() map[string]torch.Tensor
	Close()
}

// scores says how good the weights are.
type scores interface {
	// validNLL is the clean loss of the validation text in nats per token.
	validNLL() (float64, error)
	// validate scores the validation text.
	validate() (validation, error)
	// tests names the test texts, and test scores the one at a place among them.
	tests() []string
	test(i int) (experiment.TestScores, error)
	// alike says so where most outputs for a test text are one line, which no task asks for; else it is empty.
	alike() string
	// samples are what the report shows of the network's output.
	samples() []report.Sample
}

// network is what is trained.
type network struct {
	Params *torch.Params
	Output *objectives.Output
	Device torch.Device
	// Vectors are the target vectors of a method that aims at some, else nil.
	Vectors *experiment.Vectors
}

// validation is what a task finds on its validation text.
type validation struct {
	nll     float64
	bleu    *float64 // nil: not measured
	score   float64  // chooses the best checkpoint: the smaller the better
	samples string   // some of the output, or empty
}
