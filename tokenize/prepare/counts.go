package prepare

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
)

// CountsFile is the file that tells, beside the texts, what they hold and what they were made of.
const CountsFile = "counts.json"

// format changes whenever the same archives give other texts.
const format = 1

// Counts tell what a corpus holds, beside what was published of it.
type Counts struct {
	Format   int               `json:"format"`
	Corpus   string            `json:"corpus"`
	Settings map[string]string `json:"settings"`
	Tokens   string            `json:"tokens_are"`
	Complete bool              `json:"complete"`
	Sources  []source          `json:"sources"` // what the folder held
	Texts    []Text            `json:"texts"`
}

// Text is what is made at once: a set of one or more languages, or several that are parts of one text.
type Text struct {
	Name    string         `json:"name"`
	Inputs  []Input        `json:"inputs"`
	Dropped map[string]int `json:"dropped,omitempty"` // pairs, by reason
	Files   []File         `json:"files"`
	Again   bool           `json:"-"` // was there already
}

// Input is a file that a text was made of.
type Input struct {
	source
	Member string `json:"member,omitempty"` // within an archive
}

// File is what a file holds.
type File struct {
	Name      string     `json:"name"`
	Lines     int        `json:"lines"`
	Tokens    int        `json:"tokens"`
	Types     int        `json:"types,omitempty"` // different tokens, where they were counted
	Bytes     int64      `json:"bytes"`
	SHA256    string     `json:"sha256"`
	Published *Published `json:"published,omitempty"`
	Differs   []string   `json:"differs,omitempty"` // names of the figures that are not the published ones
}

// Published is what was published of a file. What is zero or empty is not known.
type Published struct {
	Lines  int    `json:"lines,omitempty"`
	Tokens int    `json:"tokens,omitempty"`
	Types  int    `json:"types,omitempty"`
	SHA256 string `json:"sha256_starts,omitempty"` // first digits
	About  bool   `json:"about,omitempty"`         // the figures are rounded
}

// near is by how much a figure may differ from a rounded one.
const near = 0.05

// compare notes which figures of a file differ from the published ones.
func (f *File) compare(p *Published) {
	f.Published, f.Differs = p, nil
	if p == nil {
		return
	}
	figure := func(name string, got, want int) {
		if want != 0 && got != want && !(p.About && math.Abs(float64(got-want)) <= near*float64(want)) {
			f.Differs = append(f.Differs, name)
		}
	}
	figure("lines", f.Lines, p.Lines)
	figure("tokens", f.Tokens, p.Tokens)
	figure("types", f.Types, p.Types)
	if !strings.HasPrefix(f.SHA256, p.SHA256) {
		f.Differs = append(f.Differs, "sha256")
	}
}

// readCounts reads a folder's counts, whose corpus must be that of now. Missing or unreadable ones have format 0.
func readCounts(folder string, now *Counts) (*Counts, error) {
	data, err := os.ReadFile(filepath.Join(folder, CountsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return &Counts{}, nil
	}
	if err != nil {
		return nil, err
	}
	c := new(Counts)
	if json.Unmarshal(data, c) != nil {
		return &Counts{}, nil
	}
	if c.Corpus != now.Corpus || !maps.Equal(c.Settings, now.Settings) {
		return nil, fmt.Errorf("%s holds %s: name another folder with -to", folder, files.Shown(c.Corpus+c.choices()))
	}
	if c.Format != format {
		return &Counts{Format: format}, nil // ours, but made otherwise
	}
	return c, nil
}

// choices are the settings in words: " with -pair=de-en".
func (c *Counts) choices() (text string) {
	for _, name := range slices.Sorted(maps.Keys(c.Settings)) {
		text += " with -" + name + "=" + c.Settings[name]
	}
	return text
}

// write keeps the counts in a folder.
func (c *Counts) write(folder string) error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return files.Write(filepath.Join(folder, CountsFile), append(data, '\n'))
}

// text returns what the counts say of a text, nil where nothing.
func (c *Counts) text(name string) *Text {
	i := slices.IndexFunc(c.Texts, func(t Text) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Texts[i]
}

// whole reports whether the files of a text lie in a folder as they were written. It reads them.
func (t *Text) whole(folder string) bool {
	for _, f := range t.Files {
		path := filepath.Join(folder, f.Name)
		info, err := os.Stat(path)
		if err != nil || info.Size() != f.Bytes || !info.Mode().IsRegular() || !filepath.IsLocal(f.Name) {
			return false
		}
		if sum, err := files.Sum(path)(); err != nil || sum != f.SHA256 {
			return false
		}
	}
	return true
}
