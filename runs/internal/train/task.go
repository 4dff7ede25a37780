package train

import (
	"fmt"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/parallel"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/runs/internal/report"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// task is what a run learns to do: texts, a model, updates and scores. All else is the trainer's: run folder,
// checkpoints, schedule, penalties, clipping, optimizer, averages, stopping, measures, log and report.
type task interface {
	// sums are the SHA-256 of the texts by file.
	sums() map[string]string
	// build makes the model, with fresh weights. A fresh run learns its vocabulary and writes it to the run folder,
	// where one that goes on finds it. Without a run, for a plan, nothing is written.
	build(run *experiment.Run, fresh bool, d torch.Device) (network, error)
	free()

	// vocabularies are hashes by name: another vocabulary gives ids another meaning.
	vocabularies() map[string]string
	// tokens counts the target tokens that an epoch trains on.
	tokens() int
	// corpus describes the texts in a few words, size for a plan with what a step trains, and introduce with what is
	// worth knowing before training.
	corpus() string
	size() string
	introduce() []string
	// reaches is the share of a large product's rate at which training computes.
	reaches() float64

	// updates hands out updates from a position on, with the tensors that a checkpoint has of what was carried there.
	updates(from corpus.Position, carried map[string]torch.Tensor) (updates, error)
	// warmStart takes the weights of another run, and returns what there is to say of it.
	warmStart(folder string) ([]checkpoint.Warning, error)

	// validNLL is the clean loss of the validation text in nats per token, which validate measures too.
	validNLL() (float64, error)
	validate() (validation, error)
	// validUnits are scores of the validation text, of that loss, which do not depend on the model's tokens.
	validUnits(nll float64) record.AnyUnits
	// tests names the test texts, and test scores the one at a place among them.
	tests() []string
	test(i int) (record.TestScores, error)
	// alike says so where most outputs for a test text are one line, which no task asks for; else it is empty.
	alike() string
	// samples are what the report shows of the network's output.
	samples() []report.Sample
}

// shared is what both tasks hold.
type shared struct {
	config experiment.Config
	peers  *parallel.Peers
	run    *experiment.Run // nil for a plan
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

// epochsOf is over how many epochs noise falls: those that the run is to have, whatever its updates cut off, or else
// those that its updates begin; 0 where it has no end.
func epochsOf(c experiment.Train, u updates) int {
	if c.Epochs == 0 && c.Steps > 0 {
		each := u.Count(1)
		n := (c.Steps + each - 1) / each
		for u.Count(n) < c.Steps { // with drawn lengths epochs differ
			n++
		}
		for n > 1 && u.Count(n-1) >= c.Steps {
			n--
		}
		return n
	}
	return c.Epochs
}

// network is what is trained.
type network struct {
	Params  *torch.Params
	Output  *objectives.Output
	Device  torch.Device
	Vectors *record.Vectors // the target vectors of a method that aims at some, else nil
}

// setRecompute has a network of model.kind compute its layers once more, where train.recompute says so.
func (s *shared) setRecompute(net any) error {
	if !s.config.Train.Recompute {
		return nil
	}
	r, ok := net.(models.Recomputer)
	if !ok {
		return fmt.Errorf("train.recompute = true, and model.kind = %q has no layers of attention to compute once more: "+
			"set it to false", s.config.Model.Kind)
	}
	r.SetRecompute(true)
	return nil
}

// validation is what a task finds on its validation text.
type validation struct {
	nll     float64
	bleu    *float64 // nil: not measured
	score   float64  // chooses the best checkpoint: the smaller the better
	samples string   // some of the output, or empty
}
