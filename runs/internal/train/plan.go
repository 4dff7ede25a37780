package train

import (
	"fmt"

	"github.com/aperture-ml/aperture/runs/internal/corpus"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/text"
	"github.com/aperture-ml/aperture/runs/internal/translator"
	"github.com/aperture-ml/aperture/torch"
)

// plan prints what a run would be, and makes nothing.
func plan(s *experiment.Settings, d *data, device torch.Device) error {
	c := s.Config
	pair, err := text.Learn(c.Data, d.train.source, d.train.target)
	if err != nil {
		return err
	}
	if err := d.encode(pair, corpus.Limits{MaxLength: c.Data.MaxLength, MaxRatio: c.Data.MaxRatio}, c.Model.MaxPositions); err != nil {
		return err
	}
	model, err := translator.New(c, pair, device)
	if err != nil {
		return err
	}
	defer model.Free()
	loader, err := newLoader(c, d.trainPairs, corpus.Position{})
	if err != nil {
		return err
	}
	defer loader.Close()
	t := &trainer{config: c, loader: loader, data: d}
	params := model.Params.Count()
	copies := int64(2) // weights and gradients
	if c.Train.Optimizer != "sgd" {
		copies += 2
	}
	if c.Train.EMADecay > 0 {
		copies++
	}
	const mib = 1 << 20
	fmt.Printf("parameters        %d\n", params)
	fmt.Printf("weights and state %d MiB (weights, gradients, moments, averages)\n", params*4*copies/mib)
	fmt.Printf("activations       about %d MiB\n", activations(c)*4/mib)
	fmt.Printf("training pairs    %d (%d target tokens)\n", len(d.trainPairs), d.targetTokens())
	fmt.Printf("steps an epoch    %d\n", loader.UpdatesPerEpoch())
	fmt.Printf("steps in all      %d\n", t.total())
	fmt.Printf("folder            %s\n", s.Out)
	return nil
}

// activations estimates the numbers that a batch keeps for its backward pass:
// about 16 vectors of the model's width and 2 of the inner width for each token
// and layer of an encoder, half as much again for a decoder.
func activations(c experiment.Config) int64 {
	m := c.Model
	layer := int64(16*m.Width + 2*m.FFNWidth)
	return int64(c.Train.MaxTokens) * layer * int64(2*m.EncoderLayers+3*m.DecoderLayers) / 2
}
