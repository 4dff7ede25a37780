package prepare

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// most is how many files of a folder are looked at: more are no folder of archives.
const most = 200000

// source is a file of the folder that a corpus is taken from.
type source struct {
	Path     string    `json:"file"` // within the folder, with slashes
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
}

// folder is what a corpus is taken from: archives as downloaded, or what was in them.
type folder struct {
	root     string
	files    []source // those nearest to the root first
	archives map[string]*archive
}

// openFolder lists the files of a folder, except those below without. It follows links, and lists no folder twice.
func openFolder(root, without string) (*folder, error) {
	f := &folder{root: root, archives: map[string]*archive{}}
	var err error
	seen := map[string]bool{}
	for names := []string{"."}; len(names) > 0 && err == nil; names = names[1:] {
		var links []string
		links, err = f.list(names[0], without, seen)
		names = append(names, links...)
	}
	slices.SortFunc(f.files, func(a, b source) int {
		if d := strings.Count(a.Path, "/") - strings.Count(b.Path, "/"); d != 0 {
			return d
		}
		return strings.Compare(a.Path, b.Path)
	})
	return f, err
}

// list adds the files of the subfolder of a name, unless it was seen, and returns the names of links to folders in it.
func (f *folder) list(name, without string, seen map[string]bool) (links []string, err error) {
	base, err := filepath.Abs(filepath.Join(f.root, name)) // for seen
	if err == nil {
		base, err = filepath.EvalSymlinks(base) // WalkDir lists nothing of a link
	}
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(base, func(p string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case p != base && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir() && (seen[p] || same(p, without)):
			return fs.SkipDir
		case entry.IsDir():
			seen[p] = true
			return nil
		case len(f.files) == most:
			return fmt.Errorf("%s holds more than %d files: name the folder of the archives alone", f.root, most)
		}
		below, err := filepath.Rel(base, p)
		at := filepath.Join(name, below)
		info, missing := os.Stat(p) // of what a link leads to
		switch {
		case missing != nil:
		case info.IsDir():
			links = append(links, at)
		case info.Mode().IsRegular():
			f.files = append(f.files, source{filepath.ToSlash(at), info.Size(), info.ModTime().UTC()})
		}
		return err
	})
	return links, err
}

// same reports whether two paths are one folder.
func same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// path returns where a file of the folder lies.
func (f *folder) path(s source) string { return filepath.Join(f.root, filepath.FromSlash(s.Path)) }

// download is a file as the page of a corpus offers it.
type download struct {
	name    string   // as the page calls it
	page    string   // where it is
	globs   []string // base names that it may have here, without .tgz and the like
	holds   string   // glob of a file in it, by which it is known among archives of one name; may be empty
	useless func(path string) bool
}

// member is a file of a corpus.
type member struct {
	names     []string   // base names that it may have, each also with .gz; the first is the usual one
	downloads []download // in which it may be, the best first
}

// endings of archives that can be read in place.
var endings = []string{".tar.gz", ".tgz", ".tar", ".zip"}

// stem returns the base name of an archive without its ending.
func stem(p string) (name string, isArchive bool) {
	name = path.Base(p)
	for _, ending := range endings {
		if at := len(name) - len(ending); at >= 0 && strings.EqualFold(name[at:], ending) {
			return name[:at], true
		}
	}
	return name, false
}

// offers reports whether an archive may be the download.
func (d download) offers(p string) bool {
	name, isArchive := stem(p)
	return isArchive && slices.ContainsFunc(d.globs, func(glob string) bool { return fits(glob, name) })
}

func fits(glob, name string) bool {
	ok, _ := path.Match(glob, name)
	return ok
}

// candidates are the files of the folder that may be of use to the members, archives and others.
func (f *folder) candidates(members []member) []source {
	var out []source
	for _, s := range f.files {
		if slices.ContainsFunc(members, func(m member) bool {
			return m.named(s.Path) || m.offered(s.Path)
		}) {
			out = append(out, s)
		}
	}
	return out
}

// offered reports whether an archive may hold the member.
func (m member) offered(p string) bool {
	return slices.ContainsFunc(m.downloads, func(d download) bool { return d.offers(p) })
}

// named reports whether a file is called as the member is.
func (m member) named(p string) bool {
	return slices.Contains(m.names, strings.TrimSuffix(path.Base(p), ".gz"))
}

// found is a member where it is.
type found struct {
	folder  *folder
	source  source   // the archive, or the file itself
	archive *archive // nil for a file
	path    string   // within the archive
}

// find returns where a member is. A member that is nowhere is a *missing.
func (f *folder) find(m member) (found, error) {
	var looked []string
	for i, d := range m.downloads {
		var offers []source
		for _, s := range f.files {
			if d.offers(s.Path) {
				offers = append(offers, s)
				if i == 0 {
					looked = append(looked, s.Path)
				}
			}
		}
		for _, name := range m.names {
			var all []found
			for _, s := range offers {
				a := f.archives[s.Path]
				for _, p := range a.matching(name, d.useless) {
					all = append(all, found{f, s, a, p})
				}
			}
			if at, ok, err := f.choose(all, d, name); ok || err != nil {
				return at, err
			}
		}
	}
	for _, name := range m.names {
		for _, packed := range []string{name + ".gz", name} {
			var all []found
			for _, s := range f.files {
				if path.Base(s.Path) == packed && (m.downloads[0].useless == nil || !m.downloads[0].useless(s.Path)) {
					all = append(all, found{folder: f, source: s})
				}
			}
			if at, ok, err := f.choose(all, m.downloads[0], packed); ok || err != nil {
				return at, err
			}
		}
	}
	return found{}, &missing{member: m, looked: looked}
}

// choose returns the one file with a name; of several, the one beside what its download holds.
func (f *folder) choose(all []found, d download, name string) (at found, ok bool, err error) {
	if len(all) > 1 && d.holds != "" {
		beside := slices.DeleteFunc(slices.Clone(all), func(at found) bool { return !f.beside(at, d.holds) })
		if len(beside) > 0 {
			all = beside
		}
	}
	switch len(all) {
	case 0:
		return at, false, nil
	case 1:
		return all[0], true, nil
	}
	return at, false, fmt.Errorf("%s is in %s and in %s: leave the one that is meant in %s, and move the other away",
		name, all[0], all[1], f.root)
}

// beside reports whether a file that fits glob lies in the same archive or folder.
func (f *folder) beside(at found, glob string) bool {
	if at.archive != nil {
		return slices.ContainsFunc(at.archive.paths, func(p string) bool { return fits(glob, path.Base(p)) })
	}
	return slices.ContainsFunc(f.files, func(s source) bool {
		return fits(glob, path.Base(s.Path)) && path.Dir(s.Path) == path.Dir(at.source.Path)
	})
}

// String names the file in errors: "data/de-en.tgz: de-en/train.tags.de-en.de".
func (at found) String() string {
	if at.archive == nil {
		return at.folder.path(at.source)
	}
	return at.folder.path(at.source) + ": " + at.path
}
