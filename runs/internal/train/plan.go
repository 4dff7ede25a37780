package train

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

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
	out, params := command.Stdout, t.Params.Count()
	copies := int64(2) // weights and gradients
	if max(s.Launch, s.Place.Size) > 1 {
		copies++ // what is summed
	}
	if c.Train.Optimizer != "sgd" {
		copies += 2
	}
	if c.Train.EMADecay > 0 || c.Train.ASGD != "none" {
		copies++
	}
	const mib = 1 << 20
	if !s.Quiet {
		for _, note := range s.Notes {
			fmt.Fprintln(os.Stderr, note)
		}
	}
	state, activations := params*4*copies, learnt.activations()*4
	fmt.Fprintf(out, "parameters        %d\n", params)
	fmt.Fprintf(out, "weights and state %d MiB (weights, gradients, moments, averages)\n", state/mib)
	vectors := int64(0)
	if t.Vectors != nil {
		rows, width := t.Output.Embedding().Size()
		vectors = rows * width * 4
		fmt.Fprintf(out, "target vectors    %d MiB (%d of %d numbers, which training does not touch)\n",
			vectors/mib, rows, width)
	}
	fmt.Fprintf(out, "activations       about %d MiB\n", activations/mib)
	fmt.Fprintf(out, "in all            about %d MiB in each process, beside the program and the texts\n",
		(state+vectors+activations)/mib)
	fmt.Fprintln(out, learnt.size(t.total()))
	fmt.Fprintf(out, "steps an epoch    %d\n", t.updates.Count(1))
	fmt.Fprintf(out, "steps in all      %d\n", t.total())
	if err := t.predict(s, state); err != nil {
		return err
	}
	fmt.Fprintf(out, "folder            %s\n", s.Out)
	return nil
}

const (
	// Updates that a prediction looks at, and batches after which it looks at no more.
	lookAt, lookAtBatches = 50, 2000
	// What shows a processor's or a device's speed: products of matrices of this size, copies of this number of bytes.
	peakSize, copyBytes, peakTries = 2048, 256 << 20, 3
	// Bytes a second that each process of one machine sends over Gloo, with a processor each: docs/results/scale.md.
	localBytes = 0.6e9
)

// predict prints how long the run should take, whose weights and state have that many bytes.
func (t *trainer) predict(s *experiment.Settings, state int64) error {
	c, processes, out := s.Config.Train, max(1, s.Launch, s.Place.Size), command.Stdout
	speed := s.Speed
	if unknown := t.Output.Uncounted(); len(unknown) > 0 {
		names := strings.Join(unknown, ", ")
		fmt.Fprintf(out, "time              not known: %s does not say what it multiplies\n", names)
		return nil
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
	n, batches := 0, 0
	for ; n < min(lookAt, t.updates.Count(1)) && batches < lookAtBatches; n++ {
		next, err := t.updates.Next()
		if err != nil {
			return err
		}
		batches += len(next.Batches)
		update := t.Output.UpdateOperations()
		sum = sum.Plus(parallel.Predict(next.Batches, update, t.Params.Tensors(), state, processes, speed))
	}
	mean := func(x float64) float64 { return x / float64(n) }
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
	fmt.Fprintf(out, "time              %v an update, %.0f target tokens a second; %v for all steps, "+
		"without validation and tests\n", each(sum.Seconds()), float64(sum.Targets)/sum.Seconds(),
		parallel.Duration(mean(sum.Seconds())*float64(t.total())))
	return nil
}
