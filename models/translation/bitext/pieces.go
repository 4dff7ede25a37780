package bitext

import (
	"bytes"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/spm"
)

// pieces is a SentencePiece model, which splits raw text and joins its pieces to raw text.
type pieces struct {
	model *spm.Model
	file  []byte
}

func readPieces(r io.Reader, name string) (*pieces, error) {
	var file bytes.Buffer
	model, err := spm.Read(io.TeeReader(r, &file), name)
	return &pieces{model, file.Bytes()}, err
}

// split gives the pieces of a line, of which a code of the language to translate into is one.
func (p *pieces) split(line string, v *tokenize.Vocabulary) []string {
	if code := languageCode(line, v); code != "" {
		return append([]string{code}, p.model.Encode(line[len(code):])...)
	}
	return p.model.Encode(line)
}

// languageCode is the code of the language to translate into, such as >>deu<<, which stands first in the lines of
// multilingual models (OPUS-MT), where the vocabulary has it; empty otherwise.
func languageCode(line string, v *tokenize.Vocabulary) string {
	if begin, _, found := strings.Cut(line, "<<"); found && strings.HasPrefix(begin, ">>") {
		if code := begin + "<<"; v.ID(code) != tokenize.Unk {
			return code
		}
	}
	return ""
}

// LanguageCode is the code of the language to translate into with which a line begins, such as >>deu<<, where it is a
// symbol; empty where there is none.
func (s *Side) LanguageCode(line string) string {
	if s.pieces == nil {
		return ""
	}
	return languageCode(line, s.Vocabulary)
}

// join gives the text of pieces. A joint vocabulary has pieces that this model lacks: their marks are spaces, too.
func (p *pieces) join(symbols []string) string {
	return strings.TrimSpace(strings.ReplaceAll(p.model.Decode(symbols), spm.Space, " "))
}

// unknown is the symbol of all vocabularies for what they lack.
const unknown = "<unk>"

// joined reports whether no space stands between two pieces. The unknown piece has one on both sides.
func (p *pieces) joined(before, after string) bool {
	return !p.model.Apart(before, after) && before != unknown && after != unknown
}

// within reports whether two pieces belong to one word: no space between them, and letters, digits or marks on both
// sides. The unknown piece begins a word.
func (p *pieces) within(before, after string) bool {
	if p.model.Apart(before, after) || after == unknown {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(before, spm.Space))
	first, _ := utf8.DecodeRuneInString(after)
	return (partOfWord(last) || before == unknown || isByte(before)) && (partOfWord(first) || isByte(after))
}

// isByte reports whether a piece is a byte of a character that the model lacks, which may be a letter.
func isByte(piece string) bool { return len(piece) == 6 && strings.HasPrefix(piece, "<0x") }

func partOfWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}
