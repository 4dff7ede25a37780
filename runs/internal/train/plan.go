package train

import (
	"fmt"
	"os"

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
	if c.Train.Optimizer != "sgd" {
		copies += 2
	}
	if c.Train.EMADecay > 0 || c.Train.ASGD != "none" {
		copies++
	}
	const mib = 1 << 20
	for _, note := range s.Notes {
		fmt.Fprintln(os.Stderr, note)
	}
	fmt.Printf("parameters        %d\n", params)
	fmt.Printf("weights and state %d MiB (weights, gradients, moments, averages)\n", params*4*copies/mib)
	if v := learnt.parts().Vectors; v != nil {
		rows, width := learnt.parts().Output.Embedding().Size()
		fmt.Printf("target vectors    %d MiB (%d of %d numbers, which training does not touch)\n", rows*width*4/mib, rows, width)
	}
	fmt.Printf("activations       about %d MiB\n", learnt.activations()*4/mib)
	fmt.Printf("%s\n", learnt.size(t.total()))
	fmt.Printf("steps an epoch    %d\n", updates.Count(1))
	fmt.Printf("steps in all      %d\n", t.total())
	fmt.Printf("folder            %s\n", s.Out)
	return nil
}
