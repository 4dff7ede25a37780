package main

import (
	"bufio"
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/tokenize"
)

// eachLine writes f of every line of the input. It flushes before it waits for more input, so that a program at the
// other end of a pipe gets its answer. A last line without "\n" gets one unless exact is set. Errors name the line.
func (s streams) eachLine(exact bool, f func(line string) (string, error)) error {
	w := bufio.NewWriterSize(s.out, 1<<16)
	lines := tokenize.NewLines(flushBeforeRead{s.in, w}, "standard input")
	for lines.Next() {
		line, err := f(lines.Text())
		if err != nil {
			w.Flush()
			return lines.Errorf("%v", err)
		}
		w.WriteString(line)
		if lines.Terminated() || !exact {
			w.WriteByte('\n')
		}
	}
	return cmp.Or(w.Flush(), lines.Err())
}

// sure makes an argument of eachLine of a function that refuses no line.
func sure(f func(string) string) func(string) (string, error) {
	return func(line string) (string, error) { return f(line), nil }
}

// filter is a tool without flags that eachLine does.
type filter struct {
	exact bool
	line  func(string) string
}

func (f filter) run(s streams) error { return s.eachLine(f.exact, sure(f.line)) }

// flushBeforeRead sends off what was written so far before it reads, which may take long.
type flushBeforeRead struct {
	in  io.Reader
	out *bufio.Writer
}

func (r flushBeforeRead) Read(p []byte) (int, error) {
	if err := r.out.Flush(); err != nil {
		return 0, err
	}
	return r.in.Read(p)
}

// eachInput reads the files that the arguments name one after the other, or else standard input.
func (s streams) eachInput(read func(r io.Reader, name string) error) error {
	if len(s.args) == 0 {
		return read(s.in, "standard input")
	}
	for _, file := range s.args {
		_, err := readWith(file, func(r io.Reader, name string) (struct{}, error) { return struct{}{}, read(r, name) })
		if err != nil {
			return err
		}
	}
	return nil
}

// readWith opens a file, which may be packed, and reads it.
func readWith[T any](file string, read func(r io.Reader, name string) (T, error)) (T, error) {
	f, err := files.Open(file)
	if err != nil {
		var none T
		return none, err
	}
	defer f.Close()
	return read(f, file)
}

// writeFiles has files written, which stand under their names when all are whole: one of them may be read meanwhile.
func writeFiles(names []string, write func(w []*bufio.Writer) error) error {
	var all []*files.Writer
	var writers []*bufio.Writer
	for i, name := range names {
		if slices.ContainsFunc(names[:i], func(other string) bool { return sameFile(name, other) }) {
			return command.Usagef("%s would be written twice: give each output a name of its own", name)
		}
		if target, err := filepath.EvalSymlinks(name); err == nil && files.Stream(name) == nil {
			name = target // which is written, and the link stays
		}
		f, err := files.Create(name)
		if err != nil {
			return err
		}
		defer f.Discard()
		all, writers = append(all, f), append(writers, bufio.NewWriterSize(f, 1<<16))
	}
	if err := write(writers); err != nil {
		return err
	}
	for _, w := range writers {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	for _, f := range all {
		if err := f.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// sameFile says whether two names are of one file, which need not be there yet.
func sameFile(a, b string) bool {
	if x, err := os.Stat(a); err == nil {
		y, err := os.Stat(b)
		return err == nil && os.SameFile(x, y)
	}
	x, err := filepath.Abs(a)
	y, err2 := filepath.Abs(b)
	return err == nil && err2 == nil && x == y
}
