package train

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// The files of a checkpoint.
const (
	modelFile     = checkpoint.ModelFile
	averageFile   = checkpoint.AverageFile
	optimizerFile = "optimizer.safetensors"
	stateFile     = "state.json"
)

// State is what a run needs, beside its tensors, to go on bit for bit.
type State struct {
	Step       int               `json:"step"` // updates done
	Processes  int               `json:"processes,omitempty"`
	Position   corpus.Position   `json:"position"`
	Optimizer  string            `json:"optimizer"`  // the one that makes the next update
	Moments    int64             `json:"moments"`    // updates of the optimizer's moments
	Vocabulary map[string]string `json:"vocabulary"` // hashes: another vocabulary would give ids another meaning

	Streams map[string]uint64 `json:"streams"` // draws made, by stream

	Progress
	Mean   bool      `json:"mean,omitempty"`   // the average is the mean of the last checkpoints, for the end alone
	Before *Progress `json:"before,omitempty"` // a validation that only the end asked for: a longer run goes on from here

	Seconds float64 `json:"seconds"` // spent on updates
	Tokens  int64   `json:"tokens"`  // target tokens trained on
	Window  window  `json:"window"`  // what the next line of the log will sum up
}

// Progress is what validations have found.
type Progress struct {
	Best     *float64 `json:"best"` // validation score that chose the best checkpoint, null before the first
	BestStep int      `json:"best_step"`
	Stalled  int      `json:"stalled"` // validations without a better score
	Plateau  int      `json:"plateau"` // the same since the rate was last lowered
	Factor   float64  `json:"factor"`  // of the learning rate, from plateau decay
	Stopped  string   `json:"stopped"` // why training ended early, or empty

	Averaging averaging `json:"averaging"`
	History   []float64 `json:"history,omitempty"` // validation losses that decide about averaging
}

// window sums up updates between two lines of the log.
type window struct {
	NLL     float64 `json:"nll"`
	Loss    float64 `json:"loss"`
	Tokens  int     `json:"tokens"`
	Updates int     `json:"updates"`
	Norm    float64 `json:"norm"`
	Seconds float64 `json:"seconds"`
}

func (t *trainer) save() error {
	if err := t.checkFinite(); err != nil {
		return err
	}
	scope := torch.OpenScope()
	defer scope.Close()
	t.state.Streams = map[string]uint64{}
	for name, s := range t.streams {
		t.state.Streams[name] = s.Offset
	}
	if t.adam != nil {
		t.state.Moments = t.adam.Steps
	}
	if t.asgd != nil {
		t.state.Averaging = averaging{t.asgd.Steps, t.asgd.Rate}
	}
	t.state.Processes = t.peers.Of().Size
	if err := t.peers.SameWeights(t.Params.Tensors()); err != nil {
		return err
	}
	carried, err := t.peers.Tensors(t.updates.Carried())
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(&t.state, "", "  ")
	if err != nil {
		return err
	}
	tensors := func(name string, list map[string]torch.Tensor) checkpoint.File {
		return checkpoint.File{Name: name, Write: func(w io.Writer) error {
			return torch.WriteSafetensors(w, list, map[string]string{"format": "pt", "step": fmt.Sprint(t.state.Step)})
		}}
	}
	files := []checkpoint.File{tensors(modelFile, t.Params.Map())}
	average := t.mean // for tools
	if average == nil {
		average = t.normalised(t.average())
	}
	if average != nil {
		files = append(files, tensors(averageFile, t.named(average)))
	}
	optimizer := t.ownState()
	for name, x := range carried {
		optimizer[carriedPrefix+name] = x
	}
	files = append(files, tensors(optimizerFile, optimizer))
	files = append(files, checkpoint.File{Name: stateFile, Write: func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	}})
	if err := t.store.Save(t.state.Step, files, t.config.Kept()); err != nil {
		return err
	}
	return t.peers.Barrier() // who reads it finds it
}

// normalised is the moving average as weights of the method's kind, a copy where these differ: the average itself goes
// on.
func (t *trainer) normalised(average []torch.Tensor) []torch.Tensor {
	if average == nil || !t.Output.FixesAverage() {
		return average
	}
	copies := make([]torch.Tensor, len(average))
	for i, x := range average {
		copies[i] = x.Clone()
	}
	t.Output.FixAverage(t.named(copies))
	return copies
}

// checkFinite keeps weights that have become infinite from being saved; the next update's loss would find them too
// late.
func (t *trainer) checkFinite() error {
	scope := torch.OpenScope()
	defer scope.Close()
	for i, p := range t.Params.Tensors() {
		if !finite(p.Detach().Sum().Item()) {
			return t.diverged(fmt.Sprintf("%s is not finite after update %d", t.Params.Names()[i], t.state.Step))
		}
	}
	return nil
}

// carriedPrefix names what the task carries from batch to batch, in the optimizer's file.
const carriedPrefix = "carried."

// ownState are the moments, the output layer's buffers, and the moving average where another one stands in its file.
func (t *trainer) ownState() map[string]torch.Tensor {
	state := map[string]torch.Tensor{}
	if t.adam != nil {
		for i, name := range t.Params.Names() {
			state["mean."+name], state["variance."+name] = t.adam.Moments(i)
		}
	}
	for name, x := range t.Output.Buffers() {
		state["buffer."+name] = x
	}
	if t.mean != nil || t.Output.FixesAverage() {
		for i, x := range t.average() {
			state["average."+t.Params.Names()[i]] = x
		}
	}
	return state
}

func (t *trainer) named(list []torch.Tensor) map[string]torch.Tensor {
	out := map[string]torch.Tensor{}
	for i, name := range t.Params.Names() {
		out[name] = list[i]
	}
	return out
}

func (s *State) read(c checkpoint.Checkpoint) error {
	f, err := c.Open(stateFile)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := json.NewDecoder(f).Decode(s); err != nil {
		return fmt.Errorf("%s/%s: %w", c.Path, stateFile, files.Plain(err))
	}
	return nil
}

// restore takes up a checkpoint, and returns what the task carried there.
func (t *trainer) restore(c checkpoint.Checkpoint) (carried map[string]torch.Tensor, err error) {
	if err := t.state.read(c); err != nil {
		return nil, err
	}
	if err := t.checkVocabulary(c); err != nil {
		return nil, err
	}
	if err := models.LoadTensors(t.Params, c, modelFile); err != nil {
		return nil, err
	}
	state, err := models.ReadTensors(c, optimizerFile, t.Device)
	if err != nil {
		return nil, err
	}
	if err := t.restoreAverage(c, state); err != nil {
		return nil, err
	}
	for name, x := range t.ownState() {
		v, found := state[name]
		if !found {
			return nil, fmt.Errorf("%s/%s: %s is missing", c.Path, optimizerFile, name)
		}
		x.Assign(v)
	}
	if t.adam != nil {
		t.adam.Steps = t.state.Moments
	}
	for name, s := range t.streams {
		s.Offset = t.state.Streams[name]
	}
	carried = map[string]torch.Tensor{}
	for name, x := range state {
		if name, found := strings.CutPrefix(name, carriedPrefix); found {
			carried[name] = x
		}
	}
	return carried, nil
}

// restoreAverage takes up the average of the weights, and the optimizer that makes it where it has begun to.
func (t *trainer) restoreAverage(c checkpoint.Checkpoint, state map[string]torch.Tensor) error {
	if t.state.Optimizer == "asgd" {
		where, factor := t.state.Averaging, t.state.Factor
		t.beginAveraging()
		t.state.Averaging, t.state.Factor = where, factor
		t.asgd.Steps, t.asgd.Rate = where.Steps, where.Rate
	}
	if t.ema == nil && t.state.Averaging.Steps == 0 {
		return nil
	}
	averages, err := models.ReadTensors(c, averageFile, t.Device)
	if err != nil {
		return err
	}
	var list []torch.Tensor
	for _, name := range t.Params.Names() {
		v, found := state["average."+name]
		if !found {
			v, found = averages[name]
		}
		if !found {
			return fmt.Errorf("%s/%s: %s is missing", c.Path, averageFile, name)
		}
		list = append(list, v)
	}
	if t.asgd != nil {
		t.asgd.Restore(list)
		return nil
	}
	for i, v := range list {
		t.ema[i].Assign(v)
	}
	return nil
}

// restoreBest makes BEST name the state's best: a process may have died between saving a checkpoint and marking it, or
// after marking a newer one that was damaged since. A run that is made longer forgets the validation that only its
// former end asked for, and one that is given more patience goes on.
func (t *trainer) restoreBest() error {
	exists := func(step int) bool {
		_, err := t.store.At(step)
		return err == nil
	}
	c := t.config.Train
	if c.ASGD != "finetune" && (c.Patience == 0 || t.state.Stalled < c.Patience) {
		t.state.Stopped = ""
	}
	if before := t.state.Before; before != nil {
		end := t.state.Progress
		t.state.Progress = *before
		if t.done() || before.Best != nil && !exists(before.BestStep) {
			t.state.Progress = end
		} else {
			t.state.Before = nil
		}
	}
	if t.state.Best == nil {
		return nil
	}
	// A warning says that the store gave another checkpoint in place of a marked one.
	marked, warnings, err := t.store.Best()
	if err == nil && len(warnings) == 0 && marked.Step == t.state.BestStep || !exists(t.state.BestStep) {
		return nil
	}
	return t.store.MarkBest(t.state.BestStep)
}

func (t *trainer) checkVocabulary(c checkpoint.Checkpoint) error {
	for name, is := range t.task.vocabularies() {
		if was := t.state.Vocabulary[name]; was != is {
			return fmt.Errorf("%s was trained with another %s vocabulary (hash %.12s, now %.12s): "+
				"restore the run's tokenizer folder", c.Path, name, was, is)
		}
	}
	return nil
}
