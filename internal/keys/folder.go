package keys

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// File is the name of a run folder's configuration.
const File = "config.toml"

// ReadFolder reads the configuration of a run folder. A folder without one is an os.ErrNotExist.
func ReadFolder(folder string) (Tree, error) {
	path := filepath.Join(folder, File)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no run (%w): give the folder that a training run wrote", folder, err)
	}
	if err != nil {
		return nil, fmt.Errorf("run folder: %w", err)
	}
	return Parse(string(text), path)
}
