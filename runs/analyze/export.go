package main

import (
	"bufio"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/objectives/vectors"
	"github.com/aperture-ml/aperture/torch"
)

// projectorConfig is the file that TensorBoard looks for in a log folder. Beside it lie, of each matrix, tensors.tsv
// and metadata.tsv, with a number before their names where there are several. The tensors are text although the
// projector reads bytes too: it takes a file for bytes only where that happens to be no UTF-8.
const projectorConfig = "projector_config.pbtxt"

// plain writes what ends a field or a line in another way.
var plain = strings.NewReplacer("\t", `\t`, "\n", `\n`, "\r", `\r`)

// list is the matrix with its words, for writing.
func (s *subject) list() *vectors.List {
	l := &vectors.List{Width: int(s.w.Size(1)), Rows: s.w.To(torch.Float32, torch.CPU).Float32s()}
	for i := range int(s.w.Size(0)) {
		l.Words = append(l.Words, plain.Replace(s.word(i)))
	}
	return l
}

// project writes a matrix for the projector, the number-th of count (from 0), and returns its entry in the
// configuration.
func (s *subject) project(folder string, number, count int, norms []float64) (entry string, err error) {
	if err := files.MakeFolder(folder); err != nil {
		return "", err
	}
	prefix := ""
	if count > 1 {
		prefix = fmt.Sprintf("%d-", number+1)
	}
	l := s.list()
	tensors, metadata := prefix+"tensors.tsv", prefix+"metadata.tsv"
	err = writeFile(filepath.Join(folder, tensors), func(w *bufio.Writer) {
		for i := range l.Words {
			for j, x := range l.Rows[i*l.Width : (i+1)*l.Width] {
				if j > 0 {
					w.WriteByte('\t')
				}
				w.WriteString(strconv.FormatFloat(float64(x), 'g', -1, 32))
			}
			w.WriteByte('\n')
		}
	})
	if err != nil {
		return "", err
	}
	ranks := slices.Repeat([]float64{math.NaN()}, len(l.Words))
	for i, row := range s.order() {
		ranks[row] = float64(i + 1)
	}
	err = writeFile(filepath.Join(folder, metadata), func(w *bufio.Writer) {
		w.WriteString("word\tcount\trank\tnorm\n")
		for i, word := range l.Words {
			fmt.Fprintf(w, "%s\t%s\t%s\t%.5g\n", word, whole(s.counts[i], s.ordered), whole(ranks[i], false), norms[i])
		}
	})
	return fmt.Sprintf("embeddings {\n  tensor_name: %s\n  tensor_path: %q\n  tensor_shape: %d\n"+
		"  tensor_shape: %d\n  metadata_path: %q\n}\n",
		quoted(s.name), tensors, len(l.Words), l.Width, metadata), err
}

// quoted is a string of the text format of protocol buffers, in which bytes outside of ASCII are octal.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			fmt.Fprintf(&b, `\%03o`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String() + `"`
}

// whole writes a count, and a question mark for one that is not known.
func whole(x float64, unknown bool) string {
	if unknown || math.IsNaN(x) {
		return "?"
	}
	return strconv.FormatFloat(x, 'f', 0, 64)
}

// writeVec writes the matrix as .vec text, whose readers take a space for the end of a word.
func (s *subject) writeVec(path string) error {
	l := s.list()
	for i, word := range l.Words {
		l.Words[i] = strings.ReplaceAll(word, " ", "_")
	}
	return writeFile(path, func(w *bufio.Writer) { l.Write(w) })
}

// writeFile writes a file whole or not at all.
func writeFile(path string, write func(w *bufio.Writer)) error {
	f, err := files.Create(path)
	if err != nil {
		return files.DiskFull(err)
	}
	w := bufio.NewWriter(f)
	write(w)
	if err := w.Flush(); err != nil {
		f.Discard()
		return files.DiskFull(err)
	}
	return files.DiskFull(f.Commit())
}
