package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/aperture-ml/aperture/internal/files"
)

// manifestName is written last, so that a folder without it is known to be incomplete.
const manifestName = "manifest.json"

// formatVersion is the version that Save writes. Verification reads it and all older ones.
const formatVersion = 2

// manifest says what a checkpoint consists of.
type manifest struct {
	Format int         `json:"format"`
	Step   int         `json:"step"`
	Config string      `json:"config"` // digest of Keys; in format 1, which has no Keys, of the run's configuration
	Files  []fileEntry `json:"files"`
	// Keys are those of the run's configuration that it may not change, with their values.
	Keys map[string]string `json:"keys,omitempty"`
	// Digest is the sha256 of this manifest as JSON with an empty Digest: a
	// flipped bit in, say, Config would otherwise pass.
	Digest string `json:"digest"`
}

type fileEntry struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

func (m manifest) digest() string {
	m.Digest = ""
	return digestOf(m)
}

// digestOf is the sha256 of a value as JSON, which puts a map's keys in order.
func digestOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // strings and integers only: cannot happen
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func (m manifest) encode() ([]byte, error) {
	m.Digest = m.digest()
	text, err := json.MarshalIndent(m, "", "  ")
	return append(text, '\n'), err
}

// A damage says which file of a checkpoint is not as its manifest says, and how.
type damage struct {
	file    string
	problem string
}

func (d *damage) Error() string { return d.file + " " + d.problem }

func damaged(file, format string, arguments ...any) error {
	return &damage{file: file, problem: fmt.Sprintf(format, arguments...)}
}

// longestName is what file systems allow a name, in bytes.
const longestName = 255

// plain says whether a file of a checkpoint may have that name: nothing outside of the folder does.
func plain(name string) bool {
	return name == filepath.Base(name) && filepath.IsLocal(name) && name != "." && len(name) <= longestName &&
		!strings.ContainsFunc(name, unicode.IsControl)
}

// readManifest reads the manifest in folder and checks all of it but the files it lists.
func readManifest(folder string, step int) (manifest, error) {
	var m manifest
	text, err := os.ReadFile(filepath.Join(folder, manifestName))
	if errors.Is(err, fs.ErrNotExist) {
		return m, damaged(manifestName, "is missing")
	}
	if err != nil {
		return m, damaged(manifestName, "cannot be read (%v)", cause(err))
	}
	// The version comes first and leniently: a newer format may have keys that this one does not know.
	var version struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return m, damaged(manifestName, "is not valid JSON (%v)", files.Plain(err))
	}
	if version.Format > formatVersion {
		return m, damaged(manifestName, "has format %d and this version of Aperture reads up to %d", version.Format,
			formatVersion)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&m); err != nil {
		return m, damaged(manifestName, "does not have the expected form (%v)", files.Plain(err))
	}
	if m.Format < 1 || m.Digest != m.digest() {
		return m, damaged(manifestName, "does not match its own digest")
	}
	for _, entry := range m.Files {
		if !plain(entry.Name) {
			return m, damaged(manifestName, "lists %.80q, which is no plain name", entry.Name)
		}
	}
	if m.Step != step {
		return m, damaged(manifestName, "belongs to %s", folderName(m.Step))
	}
	return m, nil
}

// verify compares every file of the checkpoint in folder with its manifest. Where one of those named in first is among
// them, the others are compared in size alone.
func verify(folder string, step int, first []string) (manifest, error) {
	m, err := readManifest(folder, step)
	if err != nil {
		return m, err
	}
	// Sizes of all files come first: they cost nothing and find what is cut off.
	for _, entry := range m.Files {
		info, err := os.Stat(filepath.Join(folder, entry.Name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return m, damaged(entry.Name, "is missing")
		case err != nil:
			return m, damaged(entry.Name, "cannot be read (%v)", cause(err))
		case info.Size() < entry.Size:
			return m, damaged(entry.Name, "is cut off: %d of %d bytes", info.Size(), entry.Size)
		case info.Size() > entry.Size:
			return m, damaged(entry.Name, "has %d bytes where the manifest says %d", info.Size(), entry.Size)
		}
	}
	for _, entry := range firstOf(m.Files, first) {
		sum, err := digestFile(filepath.Join(folder, entry.Name))
		if err != nil {
			return m, damaged(entry.Name, "cannot be read (%v)", cause(err))
		}
		if sum != entry.SHA256 {
			return m, damaged(entry.Name, "does not match its sha256: its content has changed since it was written")
		}
	}
	return m, nil
}

// firstOf is the entry of the first name that has one; without any it is all entries.
func firstOf(entries []fileEntry, names []string) []fileEntry {
	for _, name := range names {
		if i := slices.IndexFunc(entries, func(e fileEntry) bool { return e.Name == name }); i >= 0 {
			return entries[i : i+1]
		}
	}
	return entries
}

func digestFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.CopyBuffer(hash, file, make([]byte, 1<<20)); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// cause strips the operation and the path that os puts around an error, which our sentences name already.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
