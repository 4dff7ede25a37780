package language

import (
	"fmt"
	"math"

	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// Dynamic evaluates a model whose weights follow the text (see torch.Dynamic).
type Dynamic struct {
	Rate, Decay, Epsilon float64
	Chunk                int // words between updates
}

// Published is where a search begins: the defaults of the authors' program.
var Published = Dynamic{Rate: 5e-5, Decay: 2e-3, Epsilon: 2e-5, Chunk: 5}

// Columns of the training text in the pass that collects statistics.
const statisticsColumns = 100

// DynamicModel is a copy of a model that predicts the same ([objectives.Settings.Simplified]), with the statistics of
// its gradients. Its word vectors follow a text as one matrix, whatever factors they were trained as, so that one rate
// suits every method: if the factors of spectrum control followed instead, they would diverge at that rate
// (docs/results/dynamic-evaluation.md).
type DynamicModel struct {
	model   *Model
	weights *torch.Dynamic
}

// Dynamic makes the copy that follows texts, and collects the statistics of the gradients on the training text, at most
// limit chunks (0: all).
func (m *Model) Dynamic(training []int32, chunk, limit int) (*DynamicModel, error) {
	text, err := corpus.NewColumns(training, min(statisticsColumns, max(1, len(training)/(2*chunk))),
		"the training text", "-chunk")
	if err != nil {
		return nil, err
	}
	copied, err := m.simplified()
	if err != nil {
		return nil, err
	}
	f, whole := &DynamicModel{copied, &torch.Dynamic{}}, false
	defer func() {
		if !whole { // an operator may fail for want of memory
			f.Free()
		}
	}()
	f.weights = torch.NewDynamic(copied.Params.Tensors())
	done := 0
	f.read(text, chunk, func(loss torch.Tensor, _ float64) bool {
		loss.Backward()
		f.weights.Collect()
		torch.ZeroGrad(copied.Params.Tensors())
		done++
		return done != limit
	})
	f.weights.Finish()
	whole = true
	return f, nil
}

// NLL is the mean clean loss of a text's words in nats while the weights follow it. Each chunk is scored before the
// weights follow. Afterwards they are as before. It is infinite where the rate is one at which the weights diverge.
func (f *DynamicModel) NLL(ids []int32, d Dynamic) (float64, error) {
	text, err := corpus.NewColumns(ids, 1, "the text", "-chunk")
	if err != nil {
		return 0, err
	}
	f.weights.Rate, f.weights.Decay, f.weights.Epsilon = d.Rate, d.Decay, d.Epsilon
	defer f.weights.Reset()
	sum := 0.0
	f.read(text, d.Chunk, func(loss torch.Tensor, nll float64) bool {
		sum += nll
		if math.IsNaN(sum) || math.IsInf(sum, 0) {
			sum = math.Inf(1)
			return false
		}
		loss.Backward()
		f.weights.Step()
		torch.ZeroGrad(f.model.Params.Tensors())
		return true
	})
	return sum / float64(text.Rows-1), nil
}

// Stride is how many tokens apart the windows begin in which a network that reads blocks sees a text that the weights
// follow, and 0 for other networks. As the train.stride of a model it gives [Model.NLL] the same windows: in others each
// token has fewer words before it, or more, which changes its loss though no weight moves.
func (f *DynamicModel) Stride(chunk int) int {
	if !f.model.kind.blocks {
		return 0
	}
	return min(chunk, f.model.Settings.Train.BPTT)
}

// TargetLength is how many tokens a network that sees the chunks of a text reads at a time while the weights follow it,
// and 0 for other networks. As the train.bptt of a model it gives [Model.NLL] the same chunks.
func (f *DynamicModel) TargetLength(chunk int) int {
	if !f.model.kind.seesChunks {
		return 0
	}
	return chunk
}

// read takes a text through the network in evaluation, with gradients, and hands the mean loss and the summed clean one
// of each chunk to visit, which says whether to go on.
func (f *DynamicModel) read(text corpus.Columns, rows int, visit func(loss torch.Tensor, nll float64) bool) {
	f.model.read(text, 0, text.Count, rows, func(states torch.States, targets torch.Tensor) bool {
		loss, nll := f.model.Output.Loss(states, targets, 1/float64(targets.Size(0)))
		return visit(loss, nll.Sum().Item())
	})
}

// Free frees the copy and the statistics.
func (f *DynamicModel) Free() {
	f.weights.Free()
	f.model.Free()
}

// searchSteps is how far SearchDynamic walks one way.
const searchSteps = 6

// MostPasses is how often SearchDynamic asks for a loss at most: at its start, and on two axes both ways.
const MostPasses = 1 + 2*2*searchSteps

// SearchDynamic finds the rate of the least loss, as score gives it ([DynamicModel.NLL]), and then the decay, unless
// that is fixed, walking from start in steps of factors as long as that helps; where the weights diverge it goes on to
// lower rates.
func SearchDynamic(start Dynamic, fixedDecay bool, score func(Dynamic) (float64, error)) (Dynamic, error) {
	best := start
	least, err := score(best)
	if err != nil {
		return best, err
	}
	walk := func(factor float64, move func(*Dynamic, float64)) error {
		for range searchSteps {
			next := best
			move(&next, factor)
			nll, err := score(next)
			if err != nil {
				return err
			}
			if diverged := math.IsInf(least, 1) && next.Rate < best.Rate; !(nll < least) && !diverged {
				break
			}
			best, least = next, nll
		}
		return nil
	}
	axes := []struct {
		factor float64
		move   func(*Dynamic, float64)
	}{
		{1.6, func(d *Dynamic, x float64) { d.Rate *= x }},
		{2.5, func(d *Dynamic, x float64) { d.Decay *= x }},
	}
	if fixedDecay {
		axes = axes[:1]
	}
	for _, axis := range axes {
		before := least
		if err := walk(axis.factor, axis.move); err != nil {
			return best, err
		}
		if least < before {
			continue
		}
		if err := walk(1/axis.factor, axis.move); err != nil {
			return best, err
		}
	}
	if math.IsInf(least, 1) {
		return best, fmt.Errorf("the weights diverge at every rate down to %.2g: give a lower -rate", best.Rate)
	}
	return best, nil
}
