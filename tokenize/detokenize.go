package tokenize

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// Detokenizer joins tokens to running text as Moses's detokenizer does. It is immutable and safe for concurrent use.
type Detokenizer struct {
	language string
	classes  *classTable
	scratch  sync.Pool // of *[]byte
}

// NewDetokenizer prepares a detokenizer. English, French and Italian have rules for contractions, French for
// punctuation, Korean for spaces; other languages have the common rules alone.
func NewDetokenizer(language string) *Detokenizer {
	d := &Detokenizer{language: language, classes: classes()}
	d.scratch.New = func() any { return new([]byte) }
	return d
}

// OwnRules reports whether the language has rules beyond the common ones.
func (d *Detokenizer) OwnRules() bool {
	switch d.language {
	case "en", "fr", "it", "ko":
		return true
	}
	return false
}

// Detokenize returns the text of a tokenized line, unescaped. A line that is blank, or starts with < and ends with >,
// stays as it is.
func (d *Detokenizer) Detokenize(line string) string {
	if d.classes.blank(line) || len(line) > 2 && line[0] == '<' && line[len(line)-1] == '>' {
		return line
	}
	padded := strings.ReplaceAll(" "+line+" ", " @-@ ", "-")
	if strings.IndexByte(line, '&') >= 0 {
		padded = unescapeMoses.Replace(padded)
	}
	buffer := d.scratch.Get().(*[]byte)
	*buffer = d.join((*buffer)[:0], padded)
	text := string(*buffer)
	d.scratch.Put(buffer)
	return text
}

// join appends the text of padded, split at single spaces: two spaces hold an empty word, without properties.
func (d *Detokenizer) join(out []byte, padded string) []byte {
	rest := strings.TrimRight(padded, " ")
	var previous string
	var quotes quoteCounts
	space := true // whether a word that does not attach to the left gets a space
	for more := true; more; {
		var word string
		word, rest, more = strings.Cut(rest, " ")

		attachLeft, attachRight := false, false
		switch {
		case cjk(utf8.DecodeRuneInString(word)):
			attachLeft = d.language != "ko" && cjk(utf8.DecodeLastRuneInString(previous))
		case word != "" && d.opens(word):
			attachRight = true
		case word != "" && strings.Trim(word, `,.?!:;\%}])`) == "":
			if d.language == "fr" && len(word) == 1 && strings.Contains(`?!:;\%`, word) {
				out = appendSpace(out)
			}
			attachLeft = true
		case d.language == "en" && strings.HasPrefix(word, "'") && d.classes.first(word[1:])&alphabetic != 0 &&
			d.classes.last(previous)&alphanumeric != 0:
			attachLeft = true
		case (d.language == "fr" || d.language == "it") && more && strings.HasSuffix(word, "'") &&
			d.classes.last(word[:len(word)-1])&alphabetic != 0 && d.classes.first(rest)&alphabetic != 0:
			attachRight = true
		case word != "" && strings.Trim(word, "'\"„“`") == "":
			count := quotes.of(word)
			switch {
			case *count%2 != 0:
				*count++
				attachLeft = true
			case d.language == "en" && word == "'" && strings.HasSuffix(previous, "s"):
				attachLeft = true // the Joneses' house
			default:
				*count++
				attachRight = true
			}
		}
		if space && !attachLeft {
			out = appendSpace(out)
		}
		out = append(out, word...)
		space = !attachRight
		previous = word
	}
	if last := len(out) - 1; last >= 0 && out[last] == ' ' {
		out = out[:last]
	}
	return out
}

// appendSpace appends a space unless one stands there or the text begins.
func appendSpace(out []byte) []byte {
	if len(out) == 0 || out[len(out)-1] == ' ' {
		return out
	}
	return append(out, ' ')
}

// opens reports whether word is all currency signs and opening punctuation.
func (d *Detokenizer) opens(word string) bool {
	for _, r := range word {
		switch r {
		case '(', '[', '{', '¿', '¡':
		default:
			if d.classes.of(r)&currency == 0 {
				return false
			}
		}
	}
	return true
}

// quoteCounts counts the quote tokens of a line by their string; typographic ones count as the straight double quote.
type quoteCounts struct {
	single, double int
	rare           map[string]*int
}

func (q *quoteCounts) of(word string) *int {
	switch {
	case word == "'":
		return &q.single
	case word == `"` || strings.Trim(word, "„“") == "":
		return &q.double
	}
	if q.rare == nil {
		q.rare = make(map[string]*int)
	}
	if q.rare[word] == nil {
		q.rare[word] = new(int)
	}
	return q.rare[word]
}

// cjk reports whether Moses sets r without spaces between words: Hangul, ideographs, kana and their punctuation.
func cjk(r rune, _ int) bool {
	switch {
	case r < 0x1100:
		return false
	case r <= 0x11FF, 0x2E80 <= r && r <= 0xA4CF, 0xA840 <= r && r <= 0xA87F, 0xAC00 <= r && r <= 0xD7AF,
		0xF900 <= r && r <= 0xFAFF, 0xFE30 <= r && r <= 0xFE4F, 0xFF65 <= r && r <= 0xFFDC, 0x20000 <= r && r <= 0x2FFFF:
		return true
	}
	return false
}

// StandIn is a word, another one for each number, in whose place text is put after detokenising. It begins without case
// and has the ends of text in all that decides where spaces are beside a word: whether they are letters or digits, of a
// script without spaces, or an s. Text that is all punctuation gets spaces as a word does.
func StandIn(text string, number rune) string {
	as := func(r rune, letters charClass) string {
		switch {
		case cjk(r, 0):
			return string(0x20000 + number) // Chinese characters
		case classes().of(r)&letters != 0:
			return string(0x17000 + number) // Tangut
		}
		return string(0xF0000 + number) // private use
	}
	first, _ := utf8.DecodeRuneInString(text)
	last, _ := utf8.DecodeLastRuneInString(text)
	end := as(last, alphanumeric)
	if last == 's' {
		end += "s"
	}
	return as(first, alphabetic) + end
}

// unescapeMoses undoes the tokenizer's escapes, also of older versions, in one pass, as Moses does by leaving &amp; for
// the end.
var unescapeMoses = strings.NewReplacer("&apos;", "'", "&quot;", `"`, "&amp;", "&", "&lt;", "<", "&gt;", ">",
	"&#124;", "|", "&#91;", "[", "&#93;", "]", "&bar;", "|", "&bra;", "[", "&ket;", "]")
