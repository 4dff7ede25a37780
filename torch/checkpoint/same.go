package checkpoint

import (
	"fmt"
	"path/filepath"

	"github.com/aperture-ml/aperture/internal/keys"
)

// SameRun refuses the configuration of a run folder where it differs from the one that the folder's checkpoints were
// trained with, in a key of the task that decides results: the weights would load all the same, and mean something
// else. Whoever reads a run folder's configuration calls it. Checkpoints of earlier versions kept no keys, and cannot
// tell.
func SameRun[C any](schema *keys.Schema[C], c *C, task, folder string) error {
	kept, err := Store{Dir: filepath.Join(folder, Folder)}.Keys()
	if err != nil {
		return err
	}
	if d, changed := schema.Changed(c, task, kept); changed {
		return fmt.Errorf("%s: %s is %s, and the run's checkpoints were trained with %s: write %s = %[4]s there again",
			filepath.Join(folder, keys.File), d.Key, d.New, d.Old, d.Key)
	}
	return nil
}
