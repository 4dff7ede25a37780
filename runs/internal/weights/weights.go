package weights

import (
	"fmt"
	"path/filepath"

	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// The files of a checkpoint that hold weights: the raw ones, and their average
// where there is one.
const (
	Model   = "model.safetensors"
	Average = "average.safetensors"
)

// Load takes the weights of a checkpoint, averaged where it has an average.
func Load(params *torch.Params, c checkpoint.Checkpoint, d torch.Device) error {
	name := Model
	if c.Has(Average) {
		name = Average
	}
	scope := torch.OpenScope()
	defer scope.Close()
	values, err := Read(c, name, d)
	if err != nil {
		return err
	}
	if err := params.Load(values); err != nil {
		return fmt.Errorf("%s/%s: %w", c.Path, name, err)
	}
	return nil
}

// LoadBest takes the weights of the best checkpoint of a run folder, as Load does.
func LoadBest(params *torch.Params, folder string, d torch.Device) ([]checkpoint.Warning, error) {
	store := checkpoint.Store{Dir: filepath.Join(folder, experiment.CheckpointsDir)}
	best, warnings, err := store.Best()
	if err != nil {
		return nil, err // which tells the warnings too
	}
	return warnings, Load(params, best, d)
}

// Read reads the tensors of one file of a checkpoint.
func Read(c checkpoint.Checkpoint, name string, d torch.Device) (map[string]torch.Tensor, error) {
	f, err := c.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	values, _, err := torch.ReadSafetensors(f.Name(), d)
	return values, err
}
