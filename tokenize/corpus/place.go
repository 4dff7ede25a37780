package corpus

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
)

// place is where a text is: a file, a column of one, or some of its lines.
type place struct {
	path    string // without the ending of a packing
	column  int    // of the two that a tab parts, counted from 1; 0 is the whole line
	portion Portion
	others  string // which files would do as well, for the error where there is none
	pair    string // the languages of parallel text, in words; empty for other text
	LineSettings
}

func (p place) isPart() bool { return p.column > 0 || p.portion != Portion{} }

// named says whether a text is given by its name in a folder of texts, and not by its path.
func (p place) named() bool { return p.pair != "" || p.others != "" }

// missing is the error of an absent text: it says what names it, and what its folder holds. flag is a flag, an argument
// or, where the command has neither for it, a key of a run's configuration.
func (p place) missing(flag string) error {
	folder := filepath.Dir(p.path)
	named := flag + " names it"
	if strings.Contains(flag, ".") {
		if err := files.NoFolder(folder); err != nil {
			return fmt.Errorf("%w: %s in the run's config.toml names it", err, flag)
		}
		return fmt.Errorf("%s: there is no such file; its folder, which %s in the run's config.toml names, %s", p.path,
			flag, held(folder))
	}
	if !p.named() {
		if err := files.NoFolder(folder); err != nil {
			if slices.Contains([]string{"-train", "-valid", "-test"}, flag) {
				named = "-data names it, or " + flag + " with the whole path"
			}
			return fmt.Errorf("%s: %w; %s", p.path, err, named)
		}
		return fmt.Errorf("%s: there is no such file; %s; its folder %s", p.path, named, held(folder))
	}
	if err := files.NoFolder(folder); err != nil {
		return fmt.Errorf("%w: -data names the folder that holds the texts", err)
	}
	if p.pair != "" {
		named += fmt.Sprintf(", and -src and -tgt its languages (%s)", p.pair)
	}
	return fmt.Errorf("%s: there is no such file; %s; the folder given by -data %s%s", p.path, named, held(folder),
		p.others)
}

// held says which files are in a folder.
func held(folder string) string {
	const most = 12
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "cannot be read"
	}
	var names []string
	more := 0
	for _, e := range entries {
		switch {
		case e.IsDir():
		case len(names) == most:
			more++
		default:
			names = append(names, e.Name())
		}
	}
	switch {
	case names == nil:
		return "holds no files"
	case more > 0:
		return fmt.Sprintf("holds %s and %d more", strings.Join(names, ", "), more)
	}
	return "holds " + strings.Join(names, ", ")
}

// cut is the place's part of a line.
func (p place) cut(line []byte) ([]byte, error) {
	if p.column == 0 {
		return line, nil
	}
	first, second, found := bytes.Cut(line, []byte{'\t'})
	if !found || bytes.IndexByte(second, '\t') >= 0 {
		return nil, fmt.Errorf("this line has %d columns; wanted are two, a sentence and its translation with one "+
			"tab between them", bytes.Count(line, []byte{'\t'})+1)
	}
	if p.column == 1 {
		return first, nil
	}
	return second, nil
}

// RunningFile is where running text lies in a folder: NAME.txt, wiki.NAME.tokens (WikiText) or NAME, each perhaps
// packed.
func RunningFile(folder, name string) string {
	usual := filepath.Join(folder, name+".txt")
	for _, path := range []string{usual, filepath.Join(folder, "wiki."+name+".tokens"), filepath.Join(folder, name)} {
		if files.Exists(path) {
			return path
		}
	}
	return usual
}

// FileName is the name of a file without the ending of its packing: packed or not, it is one text.
func FileName(path string) string { return files.PlainName(filepath.Base(path)) }

// Parallel is text and its translation, line by line.
type Parallel struct{ Source, Target Text }

// PairName says where parallel text is: in two files, FOLDER/NAME.SOURCE and FOLDER/NAME.TARGET, or in one of
// sentences, tabs and translations: FOLDER/NAME.tsv, source first, or FOLDER/NAME.SOURCE-TARGET.tsv, which serves both
// directions. Each may be packed as .gz or .zst; two files go before one.
type PairName struct {
	Folder, Name, Source, Target string
	Portion                      Portion // of its lines
	LineSettings                         // of its files
}

// places are where both sides are; if nowhere, the two files, whose reader reports them as missing.
func (n PairName) places() (source, target place) {
	path := func(ending string) string { return filepath.Join(n.Folder, n.Name+"."+ending) }
	at := func(language string) place {
		languages := n.Source + " and " + n.Target
		return place{path: path(language), portion: n.Portion, pair: languages, LineSettings: n.LineSettings}
	}
	source, target = at(n.Source), at(n.Target)
	if files.Exists(source.path) || files.Exists(target.path) {
		return source, target
	}
	both, turned := n.Source+"-"+n.Target+".tsv", n.Target+"-"+n.Source+".tsv"
	for _, table := range []struct {
		ending string
		source int
	}{{both, 1}, {turned, 2}, {"tsv", 1}} {
		if p := path(table.ending); files.Exists(p) {
			source.path, source.column, target.path, target.column = p, table.source, p, 3-table.source
			return source, target
		}
	}
	source.others = fmt.Sprintf("; what is read is %[1]s.%[2]s and %[1]s.%[3]s, or %[1]s.%[4]s, or %[1]s.tsv, each also "+
		"with .gz or .zst", n.Name, n.Source, n.Target, both)
	return source, target
}

// Exists reports whether there is a file of the text.
func (n PairName) Exists() bool {
	source, _ := n.places()
	return source.others == ""
}

// ReadParallel reads text and its translation line by line, and refuses files that differ in length.
func ReadParallel(n PairName, flag string) (Parallel, error) {
	source, target := n.places()
	return parallel(source, target, flag, readPlace)
}

func parallel(
	source, target place, flag string, read func(at place, flag string) (Text, error),
) (p Parallel, err error) {
	if p.Source, err = read(source, flag); err != nil {
		return Parallel{}, err
	}
	if p.Target, err = read(target, flag); err != nil {
		return Parallel{}, err
	}
	if a, b := p.Source.Len(), p.Target.Len(); a != b {
		return Parallel{}, fmt.Errorf("%s has %d lines and %s has %d: line N of one must be the translation of line "+
			"N of the other, so restore the missing lines or set %s to files that match", p.Source.Path, a,
			p.Target.Path, b, flag)
	}
	return p, nil
}
