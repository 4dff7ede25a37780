package corpus

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"

	"github.com/aperture-ml/aperture/tokenize/bytebpe"
)

// Running is text as a language model reads it: ids of words, line after line, each ended by EndOfLine, or of pieces,
// which spell the lines and their line feeds.
type Running struct {
	IDs    []int32
	File   string // the file's name
	SHA256 string // of the file, unpacked, in hexadecimal
	Size
}

// Size is how long a text is in units that do not depend on the vocabulary.
type Size struct {
	Words int // between white space, the ends of lines among them
	Bytes int // in UTF-8, with a line feed behind each line
}

// running is the place of running text.
func (s LineSettings) running(path string) place {
	others := "; NAME.txt and wiki.NAME.tokens are read as NAME, each also with .gz or .zst"
	return place{path: path, others: others, LineSettings: s}
}

// ReadRunning reads a UTF-8 file, perhaps packed, into ids of w, which grows unless closed. Unicode's white space
// separates words; a blank line is a lone EndOfLine, and a last line without a line feed counts. The flag, such as
// "-train", is named in the errors that it can mend. It takes 4 bytes a token beside the vocabulary. Where w is of
// pieces that are still to be learnt, the file is read twice.
func (s LineSettings) ReadRunning(path, flag string, w *Words) (Running, error) {
	if w.learn > 0 {
		var counts bytebpe.Counts
		var ended []byte
		if _, err := s.eachLine(path, flag, func(line []byte, _ int64) error {
			ended = append(append(ended[:0], line...), '\n')
			counts.Add(ended)
			return nil
		}); err != nil {
			return Running{}, err
		}
		w.setPieces(bytebpe.Learn(&counts, w.learn))
	}
	r, err := newRunning(path, w)
	if err != nil {
		return Running{}, err
	}
	sum, err := s.eachLine(path, flag, func(line []byte, size int64) error {
		r.size = size
		return r.add(line)
	})
	return r.text(FileName(path), sum), err
}

// eachLine reads a file line by line; size is the number of its bytes, or 0 where that is not known.
func (s LineSettings) eachLine(path, flag string, do func(line []byte, size int64) error) (sum string, err error) {
	in, err := openLines(s.running(path), flag)
	if err != nil {
		return "", err
	}
	defer in.Close()
	var size int64
	if info, err := in.file.File.Stat(); err == nil && in.file.Packing == "" {
		size = info.Size()
	}
	for in.next() {
		if err := do(in.line, size); err != nil {
			return "", fmt.Errorf("%s:%d: %w", path, in.number, err)
		}
	}
	return in.end()
}

// RunningLines is ReadRunning for lines in memory; the sum is that of the file which they would make.
func RunningLines(lines []string, name string, w *Words) (Running, error) {
	if w.learn > 0 {
		var counts bytebpe.Counts
		for _, line := range lines {
			counts.Add([]byte(line + "\n"))
		}
		w.setPieces(bytebpe.Learn(&counts, w.learn))
	}
	r, err := newRunning(name, w)
	if err != nil {
		return Running{}, err
	}
	sum := sha256.New()
	for i, line := range lines {
		io.WriteString(sum, line+"\n")
		if err := r.add([]byte(line)); err != nil {
			return Running{}, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
	}
	return r.text(name+".txt", hex.EncodeToString(sum.Sum(nil))), nil
}

// running collects the ids of a text.
type running struct {
	words *Words
	ids   []int32
	end   int32 // EndOfLine
	size  int64 // bytes of the text; 0 where that is not known
	done  int64 // bytes that were read

	pieces *pieceReader // nil: words
	count  int          // words that were read, the ends of lines among them
}

func newRunning(name string, w *Words) (*running, error) {
	end, known := w.End()
	if !known {
		return nil, fmt.Errorf("%s: %w", name, unknownWord(EndOfLine))
	}
	r := &running{words: w, end: end}
	if w.pieces != nil {
		r.pieces = &pieceReader{encoder: w.pieces.Encoder(), end: end}
	}
	return r, nil
}

// text is what was read.
func (r *running) text(file, sum string) Running {
	if r.pieces != nil {
		r.ids = r.pieces.finish(r.ids)
	}
	return Running{r.ids, file, sum, Size{r.count, int(r.done)}}
}

// add appends the words of a line.
func (r *running) add(line []byte) error {
	r.done += int64(len(line)) + 1
	r.reserve(len(line)/2 + 2)
	r.count += countWords(line)
	if r.pieces != nil {
		r.ids = r.pieces.add(r.ids, line)
		return nil
	}
	for word := range bytes.FieldsSeq(line) {
		id, known := r.words.id(word)
		if !known {
			return unknownWord(word)
		}
		r.ids = append(r.ids, id)
	}
	r.ids = append(r.ids, r.end)
	return nil
}

func unknownWord[T string | []byte](word T) error {
	return fmt.Errorf("the word %.80q is not in the vocabulary, which has no %s to stand for it: remove it, or train "+
		"a model with this text", word, UnknownWord)
}

// reserve makes room for n more ids, and for the rest as estimated: doubling would hold a large text three times.
func (r *running) reserve(n int) {
	if len(r.ids)+n <= cap(r.ids) {
		return
	}
	if r.done >= 1<<20 {
		whole := float64(len(r.ids)) * float64(r.size) / float64(r.done)
		n = max(n, int(1.02*whole)+1024-len(r.ids))
	}
	r.ids = slices.Grow(r.ids, n)
}
