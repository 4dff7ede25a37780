package corpus

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"github.com/aperture-ml/aperture/tokenize/bytebpe"
)

// NewPieces makes a vocabulary of the pieces of a byte-level byte-pair encoding, which spell any text.
func NewPieces(t *bytebpe.Tokenizer) *Words {
	w := NewWords()
	w.setPieces(t)
	return w
}

// LearntPieces makes a vocabulary of pieces that the first text which is read into it will teach, size of them.
func LearntPieces(size int) *Words {
	w := NewWords()
	w.learn = size
	return w
}

func (w *Words) setPieces(t *bytebpe.Tokenizer) {
	w.pieces, w.learn, w.closed = t, 0, true
	for id := range t.Len() {
		unit := t.Unit(id)
		w.list = append(w.list, unit)
		w.ids[unit] = int32(id)
	}
}

// Pieces is the encoding whose pieces the vocabulary holds, or nil where it holds words.
func (w *Words) Pieces() *bytebpe.Tokenizer { return w.pieces }

// End is what ends lines: EndOfLine, or the piece of a line feed. A vocabulary of words may have none.
func (w *Words) End() (id int32, known bool) {
	if w.pieces != nil {
		return int32(w.pieces.ID(lineFeed)), true
	}
	return w.id([]byte(EndOfLine))
}

// lineFeed is the printable form of the piece of a line feed.
const lineFeed = "Ċ"

// Begin is what stands before a text of its own: GPT-2's <|endoftext|> where the vocabulary has it, else End.
func (w *Words) Begin() (id int32, known bool) {
	if w.pieces != nil {
		if id := w.pieces.ID("<|endoftext|>"); id >= 0 {
			return int32(id), true
		}
	}
	return w.End()
}

// Unit says what the vocabulary holds.
func (w *Words) Unit() string {
	if w.pieces != nil || w.learn > 0 {
		return "pieces"
	}
	return "words"
}

// pieceReader turns lines into the pieces of the whole text: GPT-2's pattern sees white space across line feeds.
type pieceReader struct {
	encoder *bytebpe.Encoder
	end     int32  // the piece of a line feed
	waiting []byte // text whose last white space depends on what follows
}

// add appends the pieces of what waits, if the line decides them, and lets the line wait.
func (p *pieceReader) add(ids []int32, line []byte) []int32 {
	first, size := utf8.DecodeRune(line)
	second, _ := utf8.DecodeRune(line[size:])
	switch {
	case size == 0: // another line feed
	case !unicode.IsSpace(first): // the line feed before it stands by itself
		if len(p.waiting) > 0 {
			ids = p.encoder.Append(ids, p.waiting[:len(p.waiting)-1])
			ids = append(ids, p.end)
		}
		p.waiting = p.waiting[:0]
	case first == ' ' && len(line) > 1 && !unicode.IsSpace(second): // the space belongs to the word behind it
		ids = p.encoder.Append(ids, p.waiting)
		p.waiting = p.waiting[:0]
	}
	p.waiting = append(append(p.waiting, line...), '\n')
	return ids
}

// finish appends the rest.
func (p *pieceReader) finish(ids []int32) []int32 { return p.encoder.Append(ids, p.waiting) }

// Encode gives the pieces of a text.
func (w *Words) Encode(text string) []int32 { return w.pieces.Encode(text) }

// countWords counts the words of a line between white space, and its end.
func countWords(line []byte) int {
	n := 1
	for range bytes.FieldsSeq(line) {
		n++
	}
	return n
}
