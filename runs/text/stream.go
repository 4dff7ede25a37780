package main

import (
	"bufio"
	"io"

	"github.com/aperture-ml/aperture/tokenize"
)

// eachLine writes f of every line of in to out, one line for each line, and
// flushes whenever it has to wait for more input, so that a program at the other
// end of a pipe gets its answer. Lines end at "\n" only; f sees a line without
// it. A line that is not UTF-8, or that f refuses, ends the work with an error
// that names the line.
func eachLine(in io.Reader, out io.Writer, f func(line string) (string, error)) error {
	return mapLines(in, out, false, f)
}

// eachLineExact is eachLine for tools that leave the end of the text as it is: a
// last line without "\n" gets none.
func eachLineExact(in io.Reader, out io.Writer, f func(line string) (string, error)) error {
	return mapLines(in, out, true, f)
}

func mapLines(in io.Reader, out io.Writer, exact bool, f func(line string) (string, error)) error {
	w := bufio.NewWriterSize(out, 1<<16)
	lines := tokenize.NewLines(flushBeforeRead{in, w}, "standard input")
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
	if err := w.Flush(); err != nil {
		return err
	}
	return lines.Err()
}

// flushBeforeRead is a reader that first sends off what was written so far: a
// read is where a program may wait for a long time.
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
