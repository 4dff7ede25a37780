package train

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/torch"
)

// warmStart takes the weights of another run (train.init).
func (t *trainer) warmStart(folder string) error {
	warnings, err := t.task.warmStart(folder)
	for _, w := range warnings {
		t.run.Log.Warnf("%s", w)
	}
	if err != nil {
		return fmt.Errorf("-init %s: %w", folder, err)
	}
	t.run.Log.Printf("starting from the weights of %s", folder)
	return nil
}

// take takes the weights of another network, which has the same vocabulary and may have another output layer.
func (n network) take(params *torch.Params, output *objectives.Output) error {
	scope := torch.OpenScope()
	defer scope.Close()
	weights := params.Map()
	if err := n.Output.StartFrom(output, weights); err != nil {
		return err
	}
	return n.Params.Load(weights)
}

// scoreStart scores and saves the weights that a run starts from, so that they stay the best where it finds none
// better.
func (t *trainer) scoreStart() error {
	_, err := t.validate()
	if err == nil {
		err = t.save()
	}
	if err != nil {
		return err
	}
	return t.store.MarkBest(t.state.Step)
}

// keepTokenizer copies the tokenizer folder of another run into this one's, byte for byte.
func keepTokenizer(folder string, run *experiment.Run) error {
	from, to := filepath.Join(folder, experiment.TokenizerDir), run.Path(experiment.TokenizerDir)
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(from, path)
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, inside)
		if err := os.MkdirAll(filepath.Dir(target), 0o777); err != nil {
			return err
		}
		return files.Write(target, data)
	})
	return files.DiskFull(err)
}
