package keys

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/aperture-ml/aperture/internal/files"
)

// File is the name of a run folder's configuration.
const File = "config.toml"

// ReadFolder reads the configuration of a run folder. A folder without one is an os.ErrNotExist.
func ReadFolder(folder string) (Tree, error) {
	path := filepath.Join(folder, File)
	text, err := os.ReadFile(path)
	if missing := files.NoFolder(folder); missing != nil {
		return nil, fmt.Errorf("%w: give the folder that a training run wrote", missing)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no run (%w): give the folder that a training run wrote", folder, err)
	}
	if err != nil {
		return nil, fmt.Errorf("run folder: %w", err)
	}
	return Parse(string(text), path)
}

// ReadFolder reads the schema's keys from a run folder. Keys that are newer than the folder have their defaults.
func (s *Schema[C]) ReadFolder(folder string) (C, error) {
	c := s.Defaults()
	tree, err := ReadFolder(folder)
	if err == nil {
		_, err = s.Lay(&c, tree, filepath.Join(folder, File), true)
	}
	return c, err
}
