package corpus

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Running is running text as a language model reads it: the ids of its words, line
// after line, each line ended by EndOfLine.
type Running struct {
	IDs    []int32
	SHA256 string // of the file's bytes, in hexadecimal
}

// ReadRunning reads a text file, in UTF-8, into ids of w, which grows unless it is
// closed. Words are separated by white space, in Unicode's sense; a blank line is a
// lone EndOfLine, and a last line without a line feed counts. The flag, such as
// "-train", is named in the errors that it can mend. It takes 4 bytes a token beside the vocabulary.
func ReadRunning(path, flag string, w *Words) (Running, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Running{}, fmt.Errorf("%s: there is no such file; %s names it, without .txt, within the folder given by -data", path, flag)
	}
	if err != nil {
		return Running{}, fmt.Errorf("cannot read the text for %s: %w", flag, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return Running{}, fmt.Errorf("cannot read the text for %s: %w", flag, err)
	}
	if info.IsDir() {
		return Running{}, fmt.Errorf("%s: this is a folder, not a text file; set %s to a file within it", path, flag)
	}
	hash := sha256.New()
	r := running{words: w, size: info.Size()}
	if err := r.read(io.TeeReader(file, hash), path); err != nil {
		return Running{}, err
	}
	if r.line == 0 {
		return Running{}, fmt.Errorf("%s: the file is empty; set %s to a file of running text", path, flag)
	}
	return Running{IDs: r.ids, SHA256: hex.EncodeToString(hash.Sum(nil))}, nil
}

// RunningLines is ReadRunning for text that is there in lines; its sum is that of
// the file which they would make.
func RunningLines(lines []string, name string, w *Words) (Running, error) {
	var text bytes.Buffer
	for _, line := range lines {
		text.WriteString(line + "\n")
	}
	sum := sha256.Sum256(text.Bytes())
	r := running{words: w, size: int64(text.Len())}
	if err := r.read(&text, name); err != nil {
		return Running{}, err
	}
	return Running{IDs: r.ids, SHA256: hex.EncodeToString(sum[:])}, nil
}

// running collects the ids of a text.
type running struct {
	words *Words
	ids   []int32
	size  int64 // bytes of the text
	done  int64 // bytes that were read
	line  int   // lines that were read
}

func (r *running) read(from io.Reader, path string) error {
	in := bufio.NewReaderSize(from, 1<<20)
	end, known := r.words.id([]byte(EndOfLine))
	if !known {
		return fmt.Errorf("%s: %w", path, unknownWord(EndOfLine))
	}
	var long []byte // a line that is longer than the buffer
	for {
		piece, err := in.ReadSlice('\n')
		r.done += int64(len(piece))
		if err == bufio.ErrBufferFull {
			long = append(long, piece...)
			continue
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("%s:%d: reading stopped here: %w", path, r.line+1, err)
		}
		text := piece
		if len(long) > 0 {
			long = append(long, piece...)
			text = long
		}
		if len(text) == 0 {
			return nil
		}
		if r.line == 0 {
			text = bytes.TrimPrefix(text, byteOrderMark)
		}
		r.line++
		if at := invalidByte(text); at >= 0 {
			return fmt.Errorf("%s:%d: byte %d (0x%02x) of this line is not valid UTF-8; convert the file, for instance with iconv -t UTF-8", path, r.line, at+1, text[at])
		}
		if err := r.add(text, end, path); err != nil {
			return err
		}
		long = long[:0]
	}
}

// add appends the words of a line.
func (r *running) add(line []byte, end int32, path string) error {
	r.reserve(len(line)/2 + 2)
	begin := -1 // of the word that is open
	word := func(to int) error {
		if begin < 0 {
			return nil
		}
		id, known := r.words.id(line[begin:to])
		if !known {
			return fmt.Errorf("%s:%d: %w", path, r.line, unknownWord(line[begin:to]))
		}
		r.ids = append(r.ids, id)
		begin = -1
		return nil
	}
	for i := 0; i < len(line); {
		size, space := 1, line[i] == ' ' || line[i] >= '\t' && line[i] <= '\r'
		if line[i] >= utf8.RuneSelf {
			var letter rune
			letter, size = utf8.DecodeRune(line[i:])
			space = unicode.IsSpace(letter)
		}
		if space {
			if err := word(i); err != nil {
				return err
			}
		} else if begin < 0 {
			begin = i
		}
		i += size
	}
	if err := word(len(line)); err != nil {
		return err
	}
	r.ids = append(r.ids, end)
	return nil
}

func unknownWord[T string | []byte](word T) error {
	return fmt.Errorf("the word %q is not in the vocabulary, which has no %s to stand for it: remove it, or train with this text among the others", word, UnknownWord)
}

// reserve makes room for n more ids. What has been read says how many there will
// be: doubling again and again would hold a large text three times.
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
