package tokenize

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// MosesVersion is the state of the Moses scripts to reproduce.
type MosesVersion string

const (
	// MosesCurrent, also when empty, splits the full stop off the last word of every line, and normalises ‘ and ‚ to '.
	MosesCurrent MosesVersion = "current"
	// Moses2017 is of December 2017, with which Multi30k was made: the last word obeys the prefix rules, and ‘ and ‚
	// become ".
	Moses2017 MosesVersion = "2017"
)

// MosesOptions are the choices of the Moses tokenizer. The zero value is English, current, with escaping.
type MosesOptions struct {
	Language   string       // "en", "de", "fr", or another one with the generic rules; "" is "en"
	Aggressive bool         // split hyphens between letters: "well-known" becomes "well @-@ known"
	NoEscape   bool         // leave & | < > ' " [ ] as they are
	Protected  []string     // regular expressions whose matches stay one token each
	Version    MosesVersion // which state of the Moses scripts to reproduce
}

// Moses splits lines into tokens as the Moses tokenizer does. It is immutable and safe for concurrent use.
type Moses struct {
	aggressive  bool
	escape      bool
	splitLast   bool // the last word always loses its full stop
	apostrophes apostropheRules
	prefixes    map[string]prefixKind
	caveat      string
	patterns    []*regexp.Regexp
	classes     *classTable
	scratch     sync.Pool // of *mosesScratch
}

// mosesScratch holds the buffers of one call.
type mosesScratch struct {
	clean []byte
	out   []byte
	marks []apostrophe
}

// NewMoses prepares a tokenizer. A protected pattern that it cannot match is an error.
func NewMoses(options MosesOptions) (*Moses, error) {
	language := cmp.Or(options.Language, "en")
	m := &Moses{
		aggressive:  options.Aggressive,
		escape:      !options.NoEscape,
		splitLast:   options.Version != Moses2017,
		apostrophes: rulesForApostrophes(language),
		classes:     classes(),
	}
	own := false
	if m.prefixes, own = nonBreakingPrefixes(language, options.Version); !own {
		m.caveat = fmt.Sprintf("no abbreviations are known for language %q: the English ones are used", language)
	}
	for _, expression := range options.Protected {
		pattern, err := compileProtected(expression)
		if err != nil {
			return nil, err
		}
		m.patterns = append(m.patterns, pattern)
	}
	m.scratch.New = func() any { return new(mosesScratch) }
	return m, nil
}

// Caveat says that the language has no list of abbreviations of its own; it is empty where it has one.
func (m *Moses) Caveat() string { return m.caveat }

// Tokenize returns the tokens of a line, joined by single spaces. A blank line stays as it is. As from Moses, a line
// that ends in .' gets a space at its end. Bytes that are not UTF-8 become U+FFFD.
func (m *Moses) Tokenize(line string) string {
	if m.classes.blank(line) {
		return line
	}
	s := m.scratch.Get().(*mosesScratch)
	s.out = s.out[:0]
	if len(m.patterns) > 0 {
		text, pieces := m.protect(line, s)
		m.split(s, text, pieces)
	} else {
		m.split(s, m.squeeze(line, s), nil)
	}
	tokens := string(s.out)
	m.scratch.Put(s)
	return tokens
}

// squeeze returns line without control characters, with runs of whitespace as one space, and none at either end.
func (m *Moses) squeeze(line string, s *mosesScratch) string {
	for i := 0; i < len(line); i++ {
		b := line[i]
		if b > ' ' && b < utf8.RuneSelf {
			continue
		}
		if b == ' ' && i > 0 && i+1 < len(line) && line[i+1] != ' ' {
			continue
		}
		if b >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(line[i:])
			if m.classes.of(r)&whitespace == 0 && !(r == utf8.RuneError && size == 1) {
				i += size - 1
				continue
			}
		}
		s.clean = append(s.clean[:0], line[:i]...)
		s.clean = m.appendSqueezed(s.clean, line[i:])
		if last := len(s.clean) - 1; last >= 0 && s.clean[last] == ' ' {
			s.clean = s.clean[:last]
		}
		return string(s.clean)
	}
	return line
}

// appendSqueezed appends squeezed text to dst, which starts a line.
func (m *Moses) appendSqueezed(dst []byte, text string) []byte {
	for _, r := range text { // ranging turns invalid bytes into U+FFFD
		switch {
		case m.classes.of(r)&whitespace != 0:
			if len(dst) > 0 && dst[len(dst)-1] != ' ' {
				dst = append(dst, ' ')
			}
		case r >= ' ':
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}

// split appends the tokens of a squeezed line to s.out. Moses rewrites the line in twenty passes, whose decisions
// depend on neighbouring characters only (for apostrophes see planApostrophes), so that one pass does.
//
// A token is always a slice of text: word is where the current one begins.
func (m *Moses) split(s *mosesScratch, text string, pieces []string) {
	marks := m.planApostrophes(s, text)
	mark, word := 0, 0
	for i := 0; i < len(text); {
		b := text[i]
		class := byteClasses[b]
		switch class {
		case letterByte:
			for i++; i < len(text) && byteClasses[text[i]] == letterByte; i++ {
			}
		case spaceByte:
			m.endWord(s, text, word, i)
			i++
			word = i
		case symbolByte:
			m.endWord(s, text, word, i)
			m.token(s, text[i:i+1])
			i++
			word = i
		case stopByte:
			end := i + 1
			for end < len(text) && text[end] == '.' {
				end++
			}
			if end > i+1 { // an ellipsis is a token of its own
				m.endWord(s, text, word, i)
				m.token(s, text[i:end])
				word = end
			}
			i = end
		case hyphenByte:
			if m.aggressive && m.classes.last(text[:i])&m.classes.first(text[i+1:])&alphanumeric != 0 {
				m.endWord(s, text, word, i)
				m.token(s, "@-@")
				word = i + 1
			}
			i++
		case commaByte:
			i, word = m.commas(s, text, word, i)
		case apostropheByte:
			var where split
			if m.apostrophes == alwaysSplit {
				where = splitBoth
			} else {
				where = marks[mark].where
				mark++
			}
			if where&splitBefore != 0 {
				m.endWord(s, text, word, i)
				word = i
			}
			i++
			if where&splitAfter != 0 {
				m.endWord(s, text, word, i)
				word = i
			}
		case wideByte:
			r, size := utf8.DecodeRuneInString(text[i:])
			if m.classes.of(r)&alphanumeric != 0 {
				i += size
				break
			}
			m.endWord(s, text, word, i)
			m.token(s, text[i:i+size])
			i += size
			word = i
		case pieceByte:
			index, size := pieceIndex(text[i:])
			m.token(s, pieces[index])
			i += size
			word = i
		}
	}
	if strings.HasSuffix(text[word:], ".'") {
		m.closingQuote(s, text[word:])
		return
	}
	m.endWord(s, text, word, len(text))
}

// commas handles the run of commas at text[i:], and returns where to go on and where the word there began. Moses looks
// at commas in three passes, whose matches use up their neighbours. In effect a single comma stays between numbers (or
// between the line's start and a number). In a longer run each comma is a token, but the last stays with a number that
// follows if the first pass did not pair it: that depends on the run's length and on what precedes it.
func (m *Moses) commas(s *mosesScratch, text string, word, i int) (next, newWord int) {
	end := i + 1
	for end < len(text) && text[end] == ',' {
		end++
	}
	precededByNumber := i == 0 || m.adjacentNumber(m.classes.last(text[:i]))
	followedByNumber := m.adjacentNumber(m.classes.first(text[end:]))
	if end == i+1 && precededByNumber && followedByNumber {
		return end, word
	}
	m.endWord(s, text, word, i)
	pairedLast := (end-i)%2 == 0
	if !precededByNumber {
		pairedLast = !pairedLast
	}
	last := end
	if followedByNumber && !pairedLast {
		last--
	}
	for ; i < last; i++ {
		m.token(s, ",")
	}
	return end, last
}

// adjacentNumber reports whether class c is a number that still stands beside its neighbour: superscripts and fractions
// are numbers but not alphanumeric, and have been set apart as symbols.
func (m *Moses) adjacentNumber(c charClass) bool {
	return c&number != 0 && c&alphanumeric != 0
}

// endWord appends the word text[from:to], if any, and decides whether its final full stop is a token.
func (m *Moses) endWord(s *mosesScratch, text string, from, to int) {
	if from == to {
		return
	}
	w := text[from:to]
	if last := len(w) - 1; last > 0 && w[last] == '.' && !m.keepsStop(w[:last], strings.TrimPrefix(text[to:], " ")) {
		m.word(s, w[:last])
		m.word(s, ".")
		return
	}
	m.word(s, w)
}

// keepsStop reports whether the full stop after a word belongs to it, given the rest of the line.
func (m *Moses) keepsStop(word, rest string) bool {
	if rest == "" && m.splitLast {
		return false
	}
	kind := m.prefixes[word]
	if kind == alwaysPrefix || m.classes.first(rest)&lowercase != 0 {
		return true
	}
	if kind == numericPrefix && rest != "" && '0' <= rest[0] && rest[0] <= '9' {
		return true
	}
	if strings.IndexByte(word, '.') < 0 {
		return false
	}
	return strings.ContainsFunc(word, func(r rune) bool { return m.classes.of(r)&alphabetic != 0 })
}

// closingQuote appends a line's last word that ends in .' with the quote apart and Moses's space at the end.
func (m *Moses) closingQuote(s *mosesScratch, word string) {
	m.token(s, strings.TrimSuffix(word, ".'"))
	s.out = m.appendEscaped(s.out, " . ' ")
}

// word appends a token that may hold apostrophes but no other special character.
func (m *Moses) word(s *mosesScratch, w string) {
	if m.escape && (w == "'" || m.apostrophes != alwaysSplit && strings.IndexByte(w, '\'') >= 0) {
		m.token(s, w)
		return
	}
	if len(s.out) > 0 {
		s.out = append(s.out, ' ')
	}
	s.out = append(s.out, w...)
}

// token appends a token of any kind.
func (m *Moses) token(s *mosesScratch, t string) {
	if len(s.out) > 0 {
		s.out = append(s.out, ' ')
	}
	s.out = m.appendEscaped(s.out, t)
}

// appendEscaped appends text with the eight special characters of Moses's formats and XML escaped.
func (m *Moses) appendEscaped(dst []byte, text string) []byte {
	if !m.escape {
		return append(dst, text...)
	}
	for i := 0; i < len(text); i++ {
		if entity := entities[text[i]]; entity != "" {
			dst = append(dst, entity...)
		} else {
			dst = append(dst, text[i])
		}
	}
	return dst
}
