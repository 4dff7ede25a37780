package prepare

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// archive is what a tar, packed or not, or a zip file holds. A tar file has no list: it is read once to the end, which
// also shows whether it is whole; small wanted members stay in memory.
type archive struct {
	paths []string          // its files
	small map[string][]byte // contents by path
	kept  int64             // bytes of these
	zip   *zip.ReadCloser   // nil for tar
}

// Sizes of members kept in memory, of one and of an archive: a tar file has many small test sets.
const (
	smallMember  = 4 << 20
	smallMembers = 64 << 20
)

// within separates the path of an archive in another one from the path in it.
const within = "!/"

// look reads what is in an archive; wanted tells the useful members, offers the archives among them.
func (f *folder) look(ctx context.Context, s source, wanted, offers func(path string) bool, m *meter) (*archive,
	error) {
	a := &archive{small: map[string][]byte{}}
	if isZip(s.Path) {
		var err error
		if a.zip, err = zip.OpenReader(f.path(s)); err != nil {
			return nil, damaged(f.path(s), err)
		}
		for _, file := range a.zip.File {
			if file.FileInfo().IsDir() {
				continue
			}
			if _, err := a.note(f.path(s), file.Name); err != nil {
				return nil, err
			}
		}
		m.add(s.Size)
		return a, nil
	}
	file, err := f.open(ctx, s, m)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return a, a.list(f.path(s), file, "", wanted, offers)
}

// note adds a member to the list, unless its name holds a control character, as that of no corpus does.
func (a *archive) note(name, path string) (noted bool, err error) {
	if strings.ContainsFunc(path, unicode.IsControl) || !utf8.ValidString(path) {
		return false, nil
	}
	if len(a.paths) == most {
		return false, fmt.Errorf("%s holds more than %d files, which no archive of a corpus does: download it again",
			name, most)
	}
	a.paths = append(a.paths, path)
	return true, nil
}

func isZip(p string) bool { return strings.HasSuffix(strings.ToLower(p), ".zip") }

// list notes the members of a tar file. Archives in it are listed too, once deep.
func (a *archive) list(name string, in io.Reader, prefix string, wanted, offers func(path string) bool) error {
	unpacked, err := untar(name, in)
	if err != nil {
		return err
	}
	for members := tar.NewReader(unpacked); ; {
		header, err := members.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return damaged(name, err)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if prefix == "" && offers(header.Name) && !isZip(header.Name) &&
			!strings.ContainsFunc(header.Name, unicode.IsControl) {
			if err := a.list(name+": "+header.Name, members, header.Name+within, wanted, offers); err != nil {
				return err
			}
			continue
		}
		p := prefix + header.Name
		if noted, err := a.note(name, p); err != nil {
			return err
		} else if !noted {
			continue
		}
		if header.Size <= smallMember && a.kept+header.Size <= smallMembers && wanted(p) {
			a.kept += header.Size
			if a.small[p], err = io.ReadAll(members); err != nil {
				return damaged(name+": "+header.Name, err)
			}
		}
	}
	if _, err := io.Copy(io.Discard, unpacked); err != nil { // up to the sum at the end
		return damaged(name, err)
	}
	return nil
}

// matching returns the paths of files with a base name, packed or not, that are not useless.
func (a *archive) matching(name string, useless func(string) bool) (paths []string) {
	for _, p := range a.paths {
		if base := path.Base(p); (base == name || base == name+".gz") && (useless == nil || !useless(p)) {
			paths = append(paths, p)
		}
	}
	return paths
}

// untar unpacks a tar file that is packed with gzip, whatever its name says.
func untar(name string, file io.Reader) (io.Reader, error) {
	in := bufio.NewReaderSize(file, 1<<17)
	magic, err := in.Peek(2)
	if err != nil && err != io.EOF {
		return nil, damaged(name, err)
	}
	if !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		if head, _ := in.Peek(262); len(head) < 262 || string(head[257:]) != "ustar" {
			return nil, fmt.Errorf("%s is no tar file, nor one packed with gzip: download it again, and look whether "+
				"it is a page that tells why it could not be had", name)
		}
		return in, nil
	}
	unpacked, err := gzip.NewReader(in)
	if err != nil {
		return nil, damaged(name, err)
	}
	return unpacked, nil
}

// skipTo reads up to a member of a tar file.
func skipTo(name string, file io.Reader, path string) (io.Reader, error) {
	in, err := untar(name, file)
	if err != nil {
		return nil, err
	}
	outer, inner, nested := strings.Cut(path, within)
	for members := tar.NewReader(in); ; {
		header, err := members.Next()
		if err != nil {
			return nil, damaged(name+": "+path, err)
		}
		if header.Name != outer || header.Typeflag != tar.TypeReg {
			continue
		}
		if nested {
			return skipTo(name+": "+outer, members, inner)
		}
		return members, nil
	}
}

// metered tells how far a file is read, and stops when its context ends.
type metered struct {
	ctx  context.Context
	file io.ReadCloser
	left int64
	m    *meter
}

func (f *folder) open(ctx context.Context, s source, m *meter) (io.ReadCloser, error) {
	file, err := os.Open(f.path(s))
	if err != nil {
		return nil, err
	}
	return &metered{ctx, file, s.Size, m}, nil
}

func (r *metered) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	n, err := r.file.Read(p)
	r.left -= int64(n)
	r.m.add(int64(n))
	return n, err
}

// Close counts what nobody needed to read as read.
func (r *metered) Close() error {
	r.m.add(r.left)
	return r.file.Close()
}

// cost is how many bytes open reads, as the meter counts them.
func (at found) cost() int64 {
	switch {
	case at.archive == nil:
		return at.source.Size
	case at.archive.zip != nil:
		return int64(at.zipped().UncompressedSize64)
	case at.archive.small[at.path] != nil:
		return int64(len(at.archive.small[at.path]))
	}
	return at.source.Size
}

// zipped returns the entry of a member of a zip file.
func (at found) zipped() *zip.File {
	files := at.archive.zip.File
	return files[slices.IndexFunc(files, func(f *zip.File) bool { return f.Name == at.path })]
}

// open opens a member, unpacked if its name ends in .gz. Its errors name it, and say if it is damaged.
func (at found) open(ctx context.Context, m *meter) (io.ReadCloser, error) {
	in, closer, err := at.openPacked(ctx, m)
	if err != nil {
		return nil, err
	}
	name := at.path
	if at.archive == nil {
		name = at.source.Path
	}
	out := &unpacked{at: at, in: in, closer: closer}
	if strings.HasSuffix(name, ".gz") {
		if out.in, err = gzip.NewReader(in); err != nil {
			closer.Close()
			return nil, damaged(at.String(), err)
		}
	}
	return out, nil
}

func (at found) openPacked(ctx context.Context, m *meter) (io.Reader, io.Closer, error) {
	if at.archive == nil {
		file, err := at.folder.open(ctx, at.source, m)
		return file, file, err
	}
	if content := at.archive.small[at.path]; content != nil {
		in := &metered{ctx, io.NopCloser(bytes.NewReader(content)), at.cost(), m}
		return in, in, nil
	}
	if at.archive.zip != nil {
		member, err := at.zipped().Open()
		if err != nil {
			return nil, nil, damaged(at.String(), err)
		}
		in := &metered{ctx, member, at.cost(), m}
		return in, in, nil
	}
	file, err := at.folder.open(ctx, at.source, m)
	if err != nil {
		return nil, nil, err
	}
	in, err := skipTo(at.folder.path(at.source), file, at.path)
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return in, file, nil
}

// unpacked is the content of a member.
type unpacked struct {
	at     found
	in     io.Reader
	closer io.Closer
}

func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.in.Read(p)
	if err != nil && err != io.EOF {
		err = damaged(u.at.String(), err)
	}
	return n, err
}

func (u *unpacked) Close() error { return u.closer.Close() }

// damaged says what the errors of a file cut short or changed mean; others get its name.
func damaged(name string, err error) error {
	var corrupt flate.CorruptInputError
	for _, known := range []error{
		io.EOF, io.ErrUnexpectedEOF, gzip.ErrHeader, gzip.ErrChecksum, zip.ErrFormat, zip.ErrChecksum, tar.ErrHeader,
	} {
		if errors.Is(err, known) || errors.As(err, &corrupt) {
			return fmt.Errorf("%s is damaged or cut short (%w): download it again", name, err)
		}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, os.ErrNotExist) {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}
