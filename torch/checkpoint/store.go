package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
)

// Folder is the folder of a run that holds its checkpoints.
const Folder = "checkpoints"

// The files of a checkpoint that hold weights: the raw ones, and their average where there is one.
const (
	ModelFile   = "model.safetensors"
	AverageFile = "average.safetensors"
)

const (
	latestName = "LATEST"
	bestName   = "BEST"
	tempSuffix = ".tmp"
	// asideSuffix marks a checkpoint that a newer save of the same step is about to replace.
	asideSuffix = ".replaced" + tempSuffix
)

// Store is a folder of checkpoints.
type Store struct {
	Dir  string // run folder/checkpoints
	Keep int    // how many of the newest checkpoints stay, besides the best; 0 or less keeps all

	// Passing tells the checkpoints, by step, that do not count among those to
	// keep and go with the next save, unless they are the best; nil is none.
	Passing func(step int) bool

	ReadOnly bool // another process writes: Recover, Save and MarkBest do nothing
}

func folderName(step int) string { return "step-" + strconv.Itoa(step) }

// parseStep is the inverse of folderName; it takes no other spelling of a number.
func parseStep(name string) (int, bool) {
	digits, found := strings.CutPrefix(name, "step-")
	step, err := strconv.Atoi(digits)
	return step, found && err == nil && step >= 0 && folderName(step) == name
}

func (s Store) path(name string) string { return filepath.Join(s.Dir, name) }

// Steps returns the steps of all checkpoints in the store, newest first, without
// looking inside them. A store that does not exist yet has none.
func (s Store) Steps() ([]int, error) {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the checkpoints in %s cannot be listed: %w", s.Dir, cause(err))
	}
	var steps []int
	for _, entry := range entries {
		if step, ok := parseStep(entry.Name()); ok {
			steps = append(steps, step)
		}
	}
	slices.Sort(steps)
	slices.Reverse(steps)
	return steps, nil
}

// Recover prepares the store for saving: it makes the folder, puts back a checkpoint that was about to be replaced, and
// removes what an interrupted save left. Only the process that holds the run folder's lock may call it.
func (s Store) Recover() error {
	if s.ReadOnly {
		return nil
	}
	if err := s.create(); err != nil {
		return err
	}
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return fmt.Errorf("the checkpoints in %s cannot be listed: %w", s.Dir, cause(err))
	}
	for _, entry := range entries {
		if name, ok := strings.CutSuffix(entry.Name(), asideSuffix); ok {
			if _, err := os.Lstat(s.path(name)); errors.Is(err, fs.ErrNotExist) {
				if err := os.Rename(s.path(entry.Name()), s.path(name)); err != nil {
					return fmt.Errorf("the checkpoint %s cannot be put back in place: %w", s.path(name), cause(err))
				}
			}
		}
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), tempSuffix) {
			if err := os.RemoveAll(s.path(entry.Name())); err != nil {
				return fmt.Errorf("%s, left by an interrupted save, cannot be removed: %w", s.path(entry.Name()),
					cause(err))
			}
		}
	}
	return nil
}

// create makes the store's folder and its parents lasting.
func (s Store) create() error {
	if err := files.MakeFolder(s.Dir); err != nil {
		return fmt.Errorf("the folder for checkpoints %s cannot be made: %w", s.Dir, cause(err))
	}
	return nil
}

// MarkBest makes BEST name the checkpoint of step, which must exist; pruning leaves it alone from then on.
func (s Store) MarkBest(step int) error {
	if s.ReadOnly {
		return nil
	}
	name := folderName(step)
	if _, err := os.Stat(filepath.Join(s.path(name), manifestName)); err != nil {
		return fmt.Errorf("%s cannot become the best checkpoint, since it is not in %s", name, s.Dir)
	}
	if err := s.point(bestName, name); err != nil {
		return fmt.Errorf("%s could not be marked as the best checkpoint in %s: %s", name, s.Dir, explain(err))
	}
	return nil
}

// point replaces the text file pointer by one that holds name.
func (s Store) point(pointer, name string) error {
	temp := s.path(pointer + tempSuffix)
	err := writeSynced(temp, []byte(name+"\n"))
	if err == nil {
		reach(pointer + "-written")
		err = os.Rename(temp, s.path(pointer))
	}
	if err != nil {
		os.Remove(temp)
		return err
	}
	reach(pointer + "-renamed")
	return files.SyncFolder(s.Dir)
}

// pointed returns the step that the text file pointer names. The error says what
// is wrong with the file and is fs.ErrNotExist where there is none.
func (s Store) pointed(pointer string) (int, error) {
	text, err := os.ReadFile(s.path(pointer))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fs.ErrNotExist
	}
	if err != nil {
		return 0, fmt.Errorf("cannot be read (%v)", cause(err))
	}
	step, ok := parseStep(strings.TrimSpace(string(text)))
	if !ok {
		return 0, fmt.Errorf("holds %.40q where step-N is expected", strings.TrimSpace(string(text)))
	}
	return step, nil
}

// prune removes all but the Keep newest checkpoints up to the one just saved, and the best; passing ones are removed.
// Later steps, which only damage or a hand can have left, are not touched.
func (s Store) prune(saved int) error {
	if s.Keep <= 0 {
		return nil
	}
	best, err := s.pointed(bestName)
	if errors.Is(err, fs.ErrNotExist) {
		best = -1
	} else if err != nil {
		return nil // which one is the best cannot be told, so none is removed
	}
	steps, err := s.Steps()
	if err != nil {
		return err
	}
	kept := 0
	for _, step := range steps {
		if step > saved {
			continue
		}
		passing := step != saved && s.Passing != nil && s.Passing(step)
		if !passing {
			kept++
		}
		if !passing && kept <= s.Keep || step == best {
			continue
		}
		// Renamed first, so that a kill in the middle leaves no half of a checkpoint under its name.
		path := s.path(folderName(step))
		if err := os.Rename(path, path+tempSuffix); err != nil {
			return fmt.Errorf("the old checkpoint %s cannot be removed: %w", path, cause(err))
		}
		reach("prune-renamed")
		if err := os.RemoveAll(path + tempSuffix); err != nil {
			return fmt.Errorf("the old checkpoint %s cannot be removed: %w", path+tempSuffix, cause(err))
		}
	}
	reach("pruned")
	return nil
}
