package checkpoint

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/aperture-ml/aperture/internal/files"
)

// File is one file of a checkpoint to be saved.
type File struct {
	Name  string                  // a plain name such as model.safetensors
	Write func(w io.Writer) error // writes the content to w, which is buffered
}

// Save writes the checkpoint of step and makes it the latest; package documentation gives the order. keys are what the
// manifest keeps of the run's configuration (see Keys). A checkpoint of the same step is replaced. An error is one
// sentence, with syscall.ENOSPC and the like underneath; the checkpoints saved before stay as they were.
func (s Store) Save(step int, files []File, keys map[string]string) error {
	if s.ReadOnly {
		return nil
	}
	if err := checkFiles(step, files); err != nil {
		return err
	}
	if err := s.create(); err != nil {
		return err
	}
	reach("begin")
	final, temp := s.path(folderName(step)), s.path(folderName(step)+tempSuffix)
	if err := s.write(temp, step, files, keys); err != nil {
		os.RemoveAll(temp) // a full disk needs its space back
		return s.notSaved(step, err)
	}
	if err := s.replace(temp, final); err != nil {
		os.RemoveAll(temp)
		return s.notSaved(step, err)
	}
	if err := s.point(latestName, folderName(step)); err != nil {
		return fmt.Errorf("checkpoint %s is saved but %s could not name it: %w", final, latestName, &explained{err})
	}
	return s.prune(step)
}

func checkFiles(step int, files []File) error {
	if step < 0 {
		return fmt.Errorf("a checkpoint cannot have the negative step %d", step)
	}
	if len(files) == 0 {
		return fmt.Errorf("checkpoint %s would hold no files", folderName(step))
	}
	seen := map[string]bool{manifestName: true}
	for _, file := range files {
		if !plain(file.Name) || seen[file.Name] {
			return fmt.Errorf("checkpoint %s cannot hold a file named %q: names are plain and each occurs once",
				folderName(step), file.Name)
		}
		seen[file.Name] = true
	}
	return nil
}

// write makes the folder temp with all files and, last, the manifest, everything synced.
func (s Store) write(temp string, step int, list []File, keys map[string]string) error {
	if err := os.RemoveAll(temp); err != nil {
		return err
	}
	if err := os.Mkdir(temp, 0o777); err != nil {
		return err
	}
	m := manifest{Format: formatVersion, Step: step, Config: digestOf(keys), Keys: keys}
	for _, file := range list {
		entry, err := writeFile(temp, file)
		if err != nil {
			return err
		}
		m.Files = append(m.Files, entry)
	}
	reach("files-synced")
	text, err := m.encode()
	if err != nil {
		return err
	}
	if err := writeSynced(filepath.Join(temp, manifestName), text); err != nil {
		return err
	}
	reach("manifest-synced")
	if err := files.SyncFolder(temp); err != nil {
		return err
	}
	reach("folder-synced")
	return nil
}

// A failedFile adds to an error the file that was being written and how far it got.
type failedFile struct {
	name    string
	written int64
	err     error
}

func (f *failedFile) Error() string {
	return fmt.Sprintf("%s after %.1f MB of %s", explain(f.err), float64(f.written)/1e6, f.name)
}
func (f *failedFile) Unwrap() error { return f.err }

// writeFile writes one file, synced, and takes its digest on the way.
func writeFile(folder string, file File) (fileEntry, error) {
	target, err := os.OpenFile(filepath.Join(folder, file.Name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return fileEntry{}, &failedFile{file.Name, 0, err}
	}
	defer target.Close()
	reach("file-created")
	counted := &meter{target: target, hash: sha256.New()}
	buffered := bufio.NewWriterSize(counted, 1<<20)
	err = file.Write(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		reach("file-written")
		err = target.Sync()
	}
	if err == nil {
		err = target.Close()
	}
	if err != nil {
		return fileEntry{}, &failedFile{file.Name, counted.size, err}
	}
	reach("file-synced")
	return fileEntry{Name: file.Name, Size: counted.size, SHA256: hex.EncodeToString(counted.hash.Sum(nil))}, nil
}

// meter passes bytes on to a file, counts them and takes their digest.
type meter struct {
	target io.Writer
	hash   interface {
		io.Writer
		Sum([]byte) []byte
	}
	size int64
}

func (m *meter) Write(p []byte) (int, error) {
	n, err := m.target.Write(p)
	m.hash.Write(p[:n])
	m.size += int64(n)
	return n, err
}

// replace gives the complete folder temp its final name and makes that lasting. A folder cannot be renamed over another
// one, so a checkpoint of the same step is set aside first; Recover puts it back if the process dies in between.
func (s Store) replace(temp, final string) error {
	aside := final + asideSuffix
	if _, err := os.Lstat(final); err == nil {
		if err := os.RemoveAll(aside); err != nil {
			return err
		}
		if err := os.Rename(final, aside); err != nil {
			return err
		}
		reach("set-aside")
	}
	if err := os.Rename(temp, final); err != nil {
		if back := os.Rename(aside, final); back != nil && !errors.Is(back, fs.ErrNotExist) {
			return errors.Join(err, back)
		}
		return err
	}
	reach("renamed")
	if err := files.SyncFolder(s.Dir); err != nil {
		return err
	}
	reach("parent-synced")
	return os.RemoveAll(aside)
}

// notSaved turns err into the one sentence that a user reads.
func (s Store) notSaved(step int, err error) error {
	rest := "nothing was saved before it"
	if latest, pointErr := s.pointed(latestName); pointErr == nil {
		rest = folderName(latest) + " is still there"
	}
	return fmt.Errorf("checkpoint %s could not be saved in %s: %w; %s", folderName(step), s.Dir, &explained{err}, rest)
}

// explained prints an error in our words and stays open to errors.Is.
type explained struct{ err error }

func (e *explained) Error() string {
	if _, ok := e.err.(*failedFile); ok {
		return e.err.Error()
	}
	return explain(e.err)
}
func (e *explained) Unwrap() error { return e.err }

// explain says what an error of the file system means and what to do about it.
func explain(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "the disk is full (free some space)"
	case errors.Is(err, syscall.EDQUOT):
		return "the disk quota is used up (free some space)"
	case errors.Is(err, syscall.EFBIG):
		return "the file would be larger than this process may write (see ulimit -f)"
	}
	return cause(err).Error()
}

// writeSynced writes a small file and makes its content lasting.
func writeSynced(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Write(text); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return file.Close()
}
