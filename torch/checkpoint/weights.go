package checkpoint

import (
	"fmt"
	"path/filepath"

	"github.com/aperture-ml/aperture/torch"
)

// Folder is the folder of a run that holds its checkpoints.
const Folder = "checkpoints"

// The files of a checkpoint that hold weights: the raw ones, and their average
// where there is one.
const (
	ModelFile   = "model.safetensors"
	AverageFile = "average.safetensors"
)

// LoadWeights takes the weights of a checkpoint, averaged where it has an average.
func LoadWeights(params *torch.Params, c Checkpoint, d torch.Device) error {
	name := ModelFile
	if c.Has(AverageFile) {
		name = AverageFile
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
func LoadBest(params *torch.Params, folder string, d torch.Device) ([]Warning, error) {
	store := Store{Dir: filepath.Join(folder, Folder)}
	best, warnings, err := store.Best()
	if err != nil {
		return nil, err // which tells the warnings too
	}
	return warnings, LoadWeights(params, best, d)
}

// ReadTensors reads the tensors of one file of a checkpoint.
func ReadTensors(c Checkpoint, name string, d torch.Device) (map[string]torch.Tensor, error) {
	f, err := c.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	values, _, err := torch.ReadSafetensors(f.Name(), d)
	return values, err
}
