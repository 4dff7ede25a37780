package models

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// weightFiles may hold the weights that a model is used with: the first that a checkpoint has does.
var weightFiles = []string{checkpoint.AverageFile, checkpoint.ModelFile}

// weightFile is the one of them that a checkpoint has, or else that it should have.
func weightFile(c checkpoint.Checkpoint) string {
	for _, name := range weightFiles {
		if c.Has(name) {
			return name
		}
	}
	return checkpoint.ModelFile
}

// LoadWeights takes the weights of a checkpoint, averaged where it has an average.
func LoadWeights(params *torch.Params, c checkpoint.Checkpoint) error {
	return LoadTensors(params, c, weightFile(c))
}

// LoadTensors reads one file of a checkpoint into the parameters.
func LoadTensors(params *torch.Params, c checkpoint.Checkpoint, name string) error {
	f, err := c.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return params.LoadSafetensors(f.Name())
}

// roomToBuild is what a network may hold beside four times its checkpoint, such as a table of positions.
const roomToBuild = 4 << 30

// LoadBest has the network of a run folder built from empty parameters, and gives it the weights of the best checkpoint,
// as LoadWeights does. A configuration whose network does not fit the checkpoint is an error at its first parameter, and
// one that is far larger before it takes the memory.
func LoadBest(folder string, build func(params *torch.Params) error) ([]checkpoint.Warning, error) {
	store := checkpoint.Store{Dir: filepath.Join(folder, checkpoint.Folder)}
	best, warnings, err := store.Best(weightFiles...)
	if err != nil {
		return nil, err // which tells the warnings too
	}
	f, err := best.Open(weightFile(best))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	params, err := torch.ParamsOf(f.Name())
	if err != nil {
		return nil, err
	}
	err = torch.Within(4*best.Bytes()+roomToBuild, func() error { return build(params) })
	if errors.Is(err, torch.ErrOutOfMemory) {
		return nil, fmt.Errorf("the network of %s does not fit into memory, or is far larger than its checkpoint of %d "+
			"bytes: %w", filepath.Join(folder, keys.File), best.Bytes(), torch.ErrOutOfMemory)
	}
	if err != nil {
		return nil, err
	}
	return warnings, params.LoadSafetensors(f.Name())
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
