package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrNone is underneath the error of Latest and Best where no valid checkpoint exists.
var ErrNone = errors.New("no valid checkpoint")

// Checkpoint is one that has been compared with its manifest.
type Checkpoint struct {
	Step int
	Path string            // its folder
	Keys map[string]string // as given to Save; nil where an earlier version wrote it

	files []fileEntry
}

// Name is step-N, as LATEST and BEST spell it.
func (c Checkpoint) Name() string { return folderName(c.Step) }

// Has tells whether the checkpoint holds a file of that name.
func (c Checkpoint) Has(name string) bool {
	for _, entry := range c.files {
		if entry.Name == name {
			return true
		}
	}
	return false
}

// Bytes is what its files have together.
func (c Checkpoint) Bytes() (sum int64) {
	for _, entry := range c.files {
		sum += entry.Size
	}
	return sum
}

// Open opens a file of the checkpoint for reading. Files that the manifest does not list are not opened.
func (c Checkpoint) Open(name string) (*os.File, error) {
	if !c.Has(name) {
		return nil, fmt.Errorf("checkpoint %s holds no %s: %w", c.Path, name, fs.ErrNotExist)
	}
	file, err := os.Open(filepath.Join(c.Path, name))
	if err != nil {
		return nil, fmt.Errorf("%s of checkpoint %s cannot be read: %w", name, c.Path, cause(err))
	}
	return file, nil
}

// A Warning says that something in the store is not as it should be, and is to be shown to the user.
type Warning struct {
	Name    string // step-N, LATEST or BEST
	File    string // the file in step-N, empty for LATEST and BEST
	Problem string // what is wrong with it, and for LATEST and BEST what is done about it
}

func (w Warning) String() string {
	if w.File == "" {
		return w.Name + " " + w.Problem
	}
	return w.Name + "/" + w.File + " " + w.Problem
}

// At returns the checkpoint of a step after comparing every byte of it with its
// manifest. The error names the file and what is wrong with it.
func (s Store) At(step int) (Checkpoint, error) { return s.at(step, nil) }

func (s Store) at(step int, first []string) (Checkpoint, error) {
	folder := s.path(folderName(step))
	if _, err := os.Stat(folder); err != nil {
		return Checkpoint{}, fmt.Errorf("there is no checkpoint %s: %w", folder, cause(err))
	}
	m, err := verify(folder, step, first)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("checkpoint %s is damaged: %w", folder, err)
	}
	return Checkpoint{Step: step, Path: folder, Keys: m.Keys, files: m.Files}, nil
}

// Latest returns the newest valid checkpoint, with a warning for every newer one
// that is damaged and for a LATEST that says otherwise. Without any the error is ErrNone.
func (s Store) Latest() (Checkpoint, []Warning, error) { return s.latest(nil) }

func (s Store) latest(first []string) (Checkpoint, []Warning, error) {
	steps, err := s.Steps()
	if err != nil {
		return Checkpoint{}, nil, err
	}
	var warnings []Warning
	for _, step := range steps {
		found, err := s.at(step, first)
		if err != nil {
			warnings = append(warnings, warningOf(folderName(step), err))
			continue
		}
		return found, append(warnings, s.pointerWarnings(latestName, found)...), nil
	}
	return Checkpoint{}, warnings, s.none(warnings)
}

// Keys returns what the newest checkpoint keeps of its run's configuration, by
// name, with values as TOML. It is nil where there is no checkpoint or an earlier version wrote
// it. Only manifests are read, and a damaged one is passed over.
func (s Store) Keys() (map[string]string, error) {
	steps, err := s.Steps()
	for _, step := range steps {
		if m, err := readManifest(s.path(folderName(step)), step); err == nil {
			return m.Keys, nil
		}
	}
	return nil, err
}

// Best returns the checkpoint that BEST names. Where there is no BEST, or the one it names is missing or damaged, it
// returns the newest valid checkpoint, with warnings that say so. Without any the error is ErrNone. Names say which
// file will be read: the content of the first of them that a checkpoint has is compared with the manifest, and of the
// others only that they are there in their sizes. Moments are twice as large as weights.
func (s Store) Best(first ...string) (Checkpoint, []Warning, error) {
	var bad []Warning
	if step, err := s.pointed(bestName); err == nil {
		found, err := s.at(step, first)
		if err == nil {
			return found, nil, nil
		}
		var d *damage
		if errors.As(err, &d) {
			bad = append(bad, warningOf(folderName(step), err))
		}
	}
	newest, warnings, err := s.latest(first)
	if len(bad) > 0 && !slices.Contains(warnings, bad[0]) {
		warnings = append(bad, warnings...)
	}
	if err != nil {
		return newest, warnings, err
	}
	return newest, append(warnings, s.pointerWarnings(bestName, newest)...), nil
}

// pointerWarnings says so where LATEST or BEST does not name the checkpoint that is used.
func (s Store) pointerWarnings(pointer string, used Checkpoint) []Warning {
	step, err := s.pointed(pointer)
	instead := ", so " + used.Name() + ", the newest valid one, is used"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []Warning{{Name: pointer, Problem: "is not there" + instead}}
	case err != nil:
		return []Warning{{Name: pointer, Problem: err.Error() + instead}}
	case step == used.Step:
		return nil
	case step < used.Step && pointer == latestName:
		return []Warning{{Name: pointer, Problem: "names " + folderName(step) + ", which is older" + instead}}
	}
	return []Warning{{Name: pointer, Problem: "names " + folderName(step) + ", which is missing or damaged" + instead}}
}

func (s Store) none(warnings []Warning) error {
	if len(warnings) == 0 {
		return fmt.Errorf("%w in %s: none has been saved yet", ErrNone, s.Dir)
	}
	var all []string
	for _, warning := range warnings {
		all = append(all, warning.String())
	}
	return fmt.Errorf("%w in %s: %s", ErrNone, s.Dir, strings.Join(all, "; "))
}

func warningOf(name string, err error) Warning {
	var d *damage
	if errors.As(err, &d) {
		return Warning{Name: name, File: d.file, Problem: d.problem}
	}
	return Warning{Name: name, Problem: "cannot be used (" + err.Error() + ")"}
}
