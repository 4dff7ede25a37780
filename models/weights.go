package models

import (
	"fmt"
	"path/filepath"

	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// LoadWeights takes the weights of a checkpoint, averaged where it has an average.
func LoadWeights(params *torch.Params, c checkpoint.Checkpoint, d torch.Device) error {
	name := checkpoint.ModelFile
	if c.Has(checkpoint.AverageFile) {
		name = checkpoint.AverageFile
	}
	scope := torch.OpenScope()
	defer scope.Close()
	values, err := ReadTensors(c, name, d)
	if err != nil {
		return err
	}
	if err := params.Load(values); err != nil {
		return fmt.Errorf("%s/%s: %w", c.Path, name, err)
	}
	return nil
}

// LoadBest takes the weights of the best checkpoint of a run folder, as LoadWeights does.
func LoadBest(params *torch.Params, folder string, d torch.Device) ([]checkpoint.Warning, error) {
	store := checkpoint.Store{Dir: filepath.Join(folder, checkpoint.Folder)}
	best, warnings, err := store.Best()
	if err != nil {
		return nil, err // which tells the warnings too
	}
	return warnings, LoadWeights(params, best, d)
}

// ReadTensors reads the tensors of one file of a checkpoint.
func ReadTensors(c checkpoint.Checkpoint, name string, d torch.Device) (map[string]torch.Tensor, error) {
	f, err := c.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	values, _, err := torch.ReadSafetensors(f.Name(), d)
	return values, err
}
