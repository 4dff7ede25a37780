package score

import (
	"fmt"
	"strings"
	"unicode"
)

// Tokenizer names one of the tokenizers that BLEU applies to both sides.
type Tokenizer string

const (
	// Tok13a is WMT's mteval-v13a: it splits ASCII punctuation, and periods, commas and hyphens by the digits beside
	// them.
	Tok13a Tokenizer = "13a"
	// TokIntl splits Unicode punctuation and symbols, as mteval-v14 does.
	TokIntl Tokenizer = "intl"
	// TokNone splits at whitespace only: for text that is tokenised already.
	TokNone Tokenizer = "none"
	// TokChar makes every code point that is not whitespace a token.
	TokChar Tokenizer = "char"
)

// Tokenize splits a line into tokens; the empty name means Tok13a. An unknown name is an error.
func (t Tokenizer) Tokenize(line string) ([]string, error) {
	switch t {
	case Tok13a, "":
		return fields(tokenize13a(line)), nil
	case TokIntl:
		return fields(tokenizeIntl(line)), nil
	case TokNone:
		return fields(line), nil
	case TokChar:
		var tokens []string
		for _, r := range line {
			if !isSpace(r) {
				tokens = append(tokens, string(r))
			}
		}
		return tokens, nil
	}
	return nil, fmt.Errorf("unknown tokenizer %q: use one of 13a, intl, none, char", string(t))
}

// mteval-v13a first undoes the mark-up of NIST's files. The order matters: "&amp;lt;" ends as "<".
var unescape13a = []struct{ old, new string }{
	{"<skipped>", ""}, {"-\n", ""}, {"\n", " "},
	{"&quot;", `"`}, {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"},
}

func tokenize13a(line string) string {
	for _, u := range unescape13a {
		line = strings.ReplaceAll(line, u.old, u.new)
	}
	runes := []rune(" " + line + " ")
	runes = padEach(runes, splits13a)
	runes = padPair(runes, notDigit, periodOrComma, 1)
	runes = padPair(runes, periodOrComma, notDigit, 0)
	runes = padPair(runes, digit, func(r rune) bool { return r == '-' }, 1)
	return string(runes)
}

func tokenizeIntl(line string) string {
	runes := []rune(line)
	runes = padPair(runes, notNumber, unicode.IsPunct, 1)
	runes = padPair(runes, unicode.IsPunct, notNumber, 0)
	runes = padEach(runes, unicode.IsSymbol)
	return string(runes)
}

// splits13a holds the ASCII punctuation that always stands alone, and the space: all but the apostrophe, comma, hyphen
// and period.
func splits13a(r rune) bool {
	switch {
	case r > '~', r == '\'', r == ',', r == '-', r == '.':
		return false
	case ' ' <= r && r <= '/', ':' <= r && r <= '@', '[' <= r && r <= '`', '{' <= r:
		return true
	}
	return false
}

func digit(r rune) bool         { return '0' <= r && r <= '9' }
func notDigit(r rune) bool      { return !digit(r) }
func periodOrComma(r rune) bool { return r == '.' || r == ',' }
func notNumber(r rune) bool     { return !unicode.IsNumber(r) }

// padEach puts a space on both sides of every rune in class.
func padEach(in []rune, class func(rune) bool) []rune {
	out := make([]rune, 0, 2*len(in))
	for _, r := range in {
		if class(r) {
			out = append(out, ' ', r, ' ')
		} else {
			out = append(out, r)
		}
	}
	return out
}

// padPair puts spaces round one of each pair of neighbours in (first, second): 0 the first, 1 the second. Like the
// regular expressions it stands for, it uses each rune once, left to right: in "a.," the comma, whose neighbour is
// taken, stays.
func padPair(in []rune, first, second func(rune) bool, padded int) []rune {
	out := make([]rune, 0, 2*len(in))
	for i := 0; i < len(in); i++ {
		switch {
		case i+1 == len(in) || !first(in[i]) || !second(in[i+1]):
			out = append(out, in[i])
			continue
		case padded == 0:
			out = append(out, ' ', in[i], ' ', in[i+1])
		default:
			out = append(out, in[i], ' ', in[i+1], ' ')
		}
		i++
	}
	return out
}
