package train

import (
	"fmt"

	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// plan prints what a run would be, and makes nothing.
func plan(s *experiment.Settings, learnt task, device torch.Device) error {
	c := s.Config
	scope := torch.OpenScope()
	defer scope.Close()
	defer learnt.free()
	made, err := learnt.build(nil, true, device)
	if err != nil {
		return err
	}
	if err := learnt.start(corpus.Position{}, nil); err != nil {
		return err
	}
	t := &trainer{config: c, task: learnt}
	params := made.Params.Count()
	copies := int64(2) // weights and gradients
	if c.Train.Optimizer != "sgd" {
		copies += 2
	}
	if c.Train.EMADecay > 0 || c.Train.ASGD != "none" {
		copies++
	}
	const mib = 1 << 20
	fmt.Printf("parameters        %d\n", params)
	fmt.Printf("weights and state %d MiB (weights, gradients, moments, averages)\n", params*4*copies/mib)
	fmt.Printf("activations       about %d MiB\n", learnt.activations()*4/mib)
	fmt.Printf("%s\n", learnt.size())
	fmt.Printf("steps an epoch    %d\n", learnt.updates(1))
	fmt.Printf("steps in all      %d\n", t.total())
	fmt.Printf("folder            %s\n", s.Out)
	return nil
}
