package train

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/parallel"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// plan prints what a run would be, and makes nothing.
func plan(s *experiment.Settings, learnt task, device torch.Device) (err error) {
	c := s.Config
	scope := torch.OpenScope()
	defer scope.Close()
	t := &trainer{config: c, task: learnt}
	defer learnt.free()
	if t.network, err = learnt.build(nil, true, device); err != nil {
		return err
	}
	if t.updates, err = learnt.updates(corpus.Position{}, nil); err != nil {
		return err
	}
	defer t.updates.Close()
	out := command.Stdout
	const mib = 1 << 20
	if !s.Quiet {
		for _, note := range s.Notes {
			fmt.Fprintln(os.Stderr, note)
		}
	}
	looked, err := t.look()
	if err != nil {
		return err
	}
	state := t.stateBytes(max(s.Launch, s.Place.Size))
	fmt.Fprintf(out, "parameters        %d\n", t.Params.Count())
	fmt.Fprintf(out, "weights and state %d MiB (weights, gradients, moments, averages)\n", state/mib)
	vectors := int64(0)
	if t.Vectors != nil {
		rows, width := t.Output.Embedding().Size()
		vectors = rows * width * 4
		fmt.Fprintf(out, "target vectors    %d MiB (%d of %d numbers, which training does not touch)\n",
			vectors/mib, rows, width)
	}
	if activations, measured := t.activations(looked); measured == "" {
		fmt.Fprintf(out, "activations       not measured: weights and gradients alone would fill the memory that is free\n")
	} else {
		fmt.Fprintf(out, "activations       about %d MiB, %s\n", activations/mib, measured)
		fmt.Fprintf(out, "in all            about %d MiB in each process, beside the program and the texts\n",
			(state+vectors+activations)/mib)
	}
	fmt.Fprintln(out, learnt.size())
	fmt.Fprintf(out, "steps an epoch    %d\n", t.updates.Count(1))
	all := openEnd
	if n := t.total(); n > 0 {
		all = fmt.Sprint(n)
	}
	fmt.Fprintf(out, "steps in all      %s\n", all)
	t.predict(s, state, looked)
	fmt.Fprintf(out, "folder            %s\n", s.Out)
	return nil
}

// stateBytes are those of weights and what training keeps of each: gradients, moments, averages.
func (t *trainer) stateBytes(processes int) int64 {
	c, copies := t.config.Train, int64(2) // weights and gradients
	if processes > 1 {
		copies++ // what is summed
	}
	if c.Optimizer != "sgd" {
		copies += 2
	}
	if c.EMADecay > 0 || c.ASGD != "none" {
		copies++
	}
	return t.Params.Count() * 4 * copies
}

// look gives the first updates.
func (t *trainer) look() (updates []models.Update, err error) {
	for batches := 0; len(updates) < min(lookAt, t.updates.Count(1)) && batches < lookAtBatches; {
		next, err := t.updates.Next()
		if err != nil {
			return nil, err
		}
		batches += len(next.Batches)
		updates = append(updates, next)
	}
	return updates, nil
}

// activations are the bytes of tensors that training takes at its most beside weights, gradients and state, and how
// they were measured: by the batch with the most places of these updates that takes no longer than a while, twice,
// since what it carries on is part of the next. A larger one is reckoned to take more by its places. Nothing is
// measured, and nothing said, where memory might not suffice.
func (t *trainer) activations(updates []models.Update) (bytes int64, measured string) {
	gradients := 4 * t.Params.Count()
	if free, err := torch.AvailableMemory(); t.Device == torch.CPU && err == nil && 2*float64(gradients) > free {
		return 0, ""
	}
	var batches []models.Batch
	for _, u := range updates {
		batches = append(batches, u.Batches...)
	}
	slices.SortStableFunc(batches, func(a, b models.Batch) int { return a.Places() - b.Places() })
	batch, largest := batches[0], batches[len(batches)-1]
	for _, b := range batches {
		if b.Operations().All() <= measuredOperations {
			batch = b
		}
	}
	t.dropout = torch.NewStream(uint64(t.config.Train.Seed), "dropout")
	before := torch.LiveDeviceBytes(t.Device)
	torch.ResetPeakBytes()
	for range 2 {
		scope := torch.OpenScope()
		t.learn(batch, 1/float64(batch.Size()))
		t.Output.Penalize()
		if t.config.Train.Batches() == 1 { // else the next one finds gradients
			torch.ZeroGrad(t.Params.Tensors())
		}
		scope.Close()
	}
	peak := torch.PeakDeviceBytes(t.Device)
	bytes, measured = max(0, peak-before-gradients), fmt.Sprintf("measured with %d target tokens", batch.Size())
	if more := float64(largest.Places()) / float64(batch.Places()); more > 1 {
		measured += fmt.Sprintf(" and reckoned for %d", largest.Size())
		bytes = int64(float64(bytes) * more)
	}
	return bytes, measured
}

const (
	// Operations of the largest batch whose memory is measured: half a minute or so of two cores.
	measuredOperations = 1.5e12
	// Updates that a prediction looks at, and batches after which it looks at no more.
	lookAt, lookAtBatches = 50, 2000
	// What shows a processor's or a device's speed: products of matrices of this size, copies of this number of bytes.
	peakSize, copyBytes, peakTries = 2048, 256 << 20, 3
	// Bytes a second that each process of one machine sends over Gloo, with a processor each: docs/results/scale.md.
	localBytes = 0.6e9
)

// predict prints how long the run should take, whose weights and state have that many bytes, by its first updates.
func (t *trainer) predict(s *experiment.Settings, state int64, updates []models.Update) {
	c, processes, out := s.Config.Train, max(1, s.Launch, s.Place.Size), command.Stdout
	speed := s.Speed
	if unknown := t.Output.Uncounted(); len(unknown) > 0 {
		names := strings.Join(unknown, ", ")
		fmt.Fprintf(out, "time              not known: %s does not say what it multiplies\n", names)
		return
	}
	local := max(1, s.Launch, s.Place.LocalSize)
	threads := min(local*c.Threads, runtime.GOMAXPROCS(0)) // of all processes of this machine
	from, by := "-device-flops", "-bandwidth"
	if speed.Operations == 0 {
		share := 1. // of what is measured
		if t.Device == torch.CPU {
			torch.SetThreads(threads)
			share = 1 / float64(local)
		}
		dtype := torch.Float32
		if c.Precision == "bfloat16" {
			dtype = torch.BFloat16
		}
		peak := torch.PeakRate(t.Device, dtype, peakSize, peakTries) * share
		speed.Memory = torch.CopyRate(t.Device, copyBytes, peakTries) * share
		torch.SetThreads(c.Threads)
		speed.Operations = peak * t.task.reaches()
		from = fmt.Sprintf("%.0f %% of the %.3g that a large product of matrices has here; -device-flops sets another",
			100*t.task.reaches(), peak)
	}
	if speed.Bytes == 0 {
		speed.Bytes = localBytes * float64(threads) / float64(local*c.Threads)
		by = "what processes of one machine send; -bandwidth sets another"
	}
	var sum parallel.Prediction
	for _, u := range updates {
		update := t.Output.UpdateOperations()
		one := parallel.Predict(u.Batches, update, t.Params.Tensors(), state, processes, speed)
		if c.Recompute {
			one.Hidden = 0 // sums begin behind the backward pass
		}
		sum = sum.Plus(one)
	}
	mean := func(x float64) float64 { return x / float64(len(updates)) }
	each := func(seconds float64) time.Duration { return parallel.Duration(mean(seconds)) }
	fmt.Fprintf(out, "arithmetic        %.3g operations an update of %.0f target tokens, by %d processes: "+
		"%v at %.3g a second each (%s)\n",
		mean(sum.Operations), mean(float64(sum.Targets)), processes, each(sum.Arithmetic), speed.Operations, from)
	if speed.Memory > 0 {
		fmt.Fprintf(out, "optimizer         weights and state are read and written: %v at %.3g bytes a second\n",
			each(sum.State), speed.Memory)
	}
	if processes > 1 {
		fmt.Fprintf(out, "sums              %.1f MB of gradients an update: %v at %.3g bytes a second (%s), "+
			"of it %v behind the backward pass\n",
			mean(float64(sum.SumBytes))/1e6, each(sum.Sums), speed.Bytes, by, each(sum.Hidden))
	}
	all := ""
	if n := t.total(); n > 0 {
		all = fmt.Sprintf("; %v for all steps", parallel.Duration(mean(sum.Seconds())*float64(n)))
	}
	fmt.Fprintf(out, "time              %v an update, %.0f target tokens a second%s, without validation and tests\n",
		each(sum.Seconds()), float64(sum.Targets)/sum.Seconds(), all)
}
