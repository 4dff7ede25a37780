package train

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/aperture-ml/aperture/models/parallel"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// plan prints what a run would be, and makes nothing.
func plan(s *experiment.Settings, read texts, device torch.Device) error {
	c := s.Config
	scope := torch.OpenScope()
	defer scope.Close()
	learnt, err := read.task(nil, true, device)
	if err != nil {
		return err
	}
	defer learnt.free()
	updates, err := learnt.updates(corpus.Position{}, nil)
	if err != nil {
		return err
	}
	defer updates.Close()
	t := &trainer{config: c, task: learnt, updates: updates}
	params := learnt.parts().Params.Count()
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
	for _, note := range s.Notes {
		if s.Quiet {
			break
		}
		fmt.Fprintln(os.Stderr, note)
	}
	fmt.Fprintf(command.Stdout, "parameters        %d\n", params)
	memory := params * 4 * copies
	fmt.Fprintf(command.Stdout, "weights and state %d MiB (weights, gradients, moments, averages)\n", memory/mib)
	if v := learnt.parts().Vectors; v != nil {
		rows, width := learnt.parts().Output.Embedding().Size()
		fmt.Fprintf(command.Stdout, "target vectors    %d MiB (%d of %d numbers, which training does not touch)\n", rows*width*4/mib, rows, width)
		memory += rows * width * 4
	}
	memory += learnt.activations() * 4
	fmt.Fprintf(command.Stdout, "activations       about %d MiB\nin all            about %d MiB in each process, beside the program and the texts\n", learnt.activations()*4/mib, memory/mib)
	fmt.Fprintf(command.Stdout, "%s\n", learnt.size(t.total()))
	fmt.Fprintf(command.Stdout, "steps an epoch    %d\n", updates.Count(1))
	fmt.Fprintf(command.Stdout, "steps in all      %d\n", t.total())
	if err := predict(s, learnt, updates, params*4*copies, t.total()); err != nil {
		return err
	}
	fmt.Fprintf(command.Stdout, "folder            %s\n", s.Out)
	return nil
}

const (
	// Updates that a prediction looks at, and batches after which it looks at no more.
	lookAt, lookAtBatches = 50, 2000
	// What shows a processor's or a device's speed: products of matrices of this size, copies of the given number of bytes.
	peakSize, copyBytes, peakTries = 2048, 256 << 20, 3
	// Bytes a second that each process sends where several of one machine sum gradients over Gloo and have a processor each:
	// docs/results/scale.md.
	localBytes = 0.6e9
)

// predict prints how long the run should take, whose weights and state have so many bytes.
func predict(s *experiment.Settings, learnt task, u updates, state int64, steps int) error {
	c, processes := s.Config.Train, max(1, s.Launch, s.Place.Size)
	speed, parts := s.Speed, learnt.parts()
	if unknown := parts.Output.Uncounted(); len(unknown) > 0 {
		fmt.Fprintf(command.Stdout, "time              not known: %s does not say what it multiplies\n", strings.Join(unknown, ", "))
		return nil
	}
	local := max(1, s.Launch, s.Place.LocalSize)
	threads := min(local*c.Threads, runtime.GOMAXPROCS(0)) // of all processes of this machine
	from, by := "-device-flops", "-bandwidth"
	if speed.Operations == 0 {
		share := 1. // of what is measured
		if parts.Device == torch.CPU {
			torch.SetThreads(threads)
			share = 1 / float64(local)
		}
		dtype := torch.Float32
		if c.Precision == "bfloat16" {
			dtype = torch.BFloat16
		}
		peak := torch.PeakRate(parts.Device, dtype, peakSize, peakTries) * share
		speed.Memory = torch.CopyRate(parts.Device, copyBytes, peakTries) * share
		torch.SetThreads(c.Threads)
		speed.Operations = peak * learnt.reaches()
		from = fmt.Sprintf("%.0f %% of the %.3g that a large product of matrices has here; -device-flops sets another", 100*learnt.reaches(), peak)
	}
	if speed.Bytes == 0 {
		speed.Bytes, by = localBytes*float64(threads)/float64(local*c.Threads), "what processes of one machine send; -bandwidth sets another"
	}
	var sum parallel.Prediction
	n, batches := 0, 0
	for ; n < min(lookAt, u.Count(1)) && batches < lookAtBatches; n++ {
		next, err := u.Next()
		if err != nil {
			return err
		}
		batches += len(next.Batches)
		sum = sum.Plus(parallel.Predict(next.Batches, parts.Output.UpdateOperations(), parts.Params.Tensors(), state, processes, speed))
	}
	mean := func(x float64) float64 { return x / float64(n) }
	fmt.Fprintf(command.Stdout, "arithmetic        %.3g operations an update of %.0f target tokens, by %d processes: %v at %.3g a second each (%s)\n",
		mean(sum.Operations), mean(float64(sum.Targets)), processes, parallel.Duration(mean(sum.Arithmetic)), speed.Operations, from)
	if speed.Memory > 0 {
		fmt.Fprintf(command.Stdout, "optimizer         weights and state are read and written: %v at %.3g bytes a second\n", parallel.Duration(mean(sum.State)), speed.Memory)
	}
	if processes > 1 {
		fmt.Fprintf(command.Stdout, "sums              %.1f MB of gradients an update: %v at %.3g bytes a second (%s), of it %v behind the backward pass\n",
			mean(float64(sum.SumBytes))/1e6, parallel.Duration(mean(sum.Sums)), speed.Bytes, by, parallel.Duration(mean(sum.Hidden)))
	}
	fmt.Fprintf(command.Stdout, "time              %v an update, %.0f target tokens a second; %v for all steps, without validation and tests\n",
		parallel.Duration(mean(sum.Seconds())), float64(sum.Targets)/sum.Seconds(), parallel.Duration(mean(sum.Seconds())*float64(steps)))
	return nil
}
