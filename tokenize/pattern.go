package tokenize

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// upTo is a repetition that leaves out its lower bound, which Go has to see.
var upTo = regexp.MustCompile(`^\{,[0-9]*\}`)

// syntaxError is the error of a pattern without the characters that no terminal should show.
func syntaxError(err error) error {
	var wrong *syntax.Error
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s: %.80q", wrong.Code, wrong.Expr)
	}
	return err
}

// goPattern rewrites a regular expression of Python or Perl for Go, whose \d, \w and \s know ASCII only. escape
// translates what follows a backslash and counts its bytes; what Go cannot say is an error.
func goPattern(
	pattern string, python bool, escape func(rest string, inClass bool) (string, int, error),
) (string, error) {
	var out strings.Builder
	inClass := false
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case c == '\\':
			if i++; i == len(pattern) {
				return "", fmt.Errorf("it ends in a lone backslash")
			}
			translated, used, err := escape(pattern[i:], inClass)
			if err != nil {
				return "", err
			}
			out.WriteString(translated)
			i += used - 1
		case inClass && c == '[':
			if size := strings.Index(pattern[i:], ":]"); !python && size > 0 && pattern[i+1] == ':' { // a named class
				inside, known := perlClass[pattern[i+2:i+size]]
				if !known {
					return "", fmt.Errorf("[%.20s] is not supported: write out the characters", pattern[i+1:i+size+1])
				}
				out.WriteString(inside)
				i += size + 1
				continue
			}
			out.WriteString(`\[`) // Go would look for a named class
		case inClass && c == ']':
			inClass = false
			out.WriteByte(c)
		case !inClass && c == '[':
			inClass = true
			out.WriteByte(c)
			if strings.HasPrefix(pattern[i+1:], "^") {
				out.WriteByte('^')
				i++
			}
			if strings.HasPrefix(pattern[i+1:], "]") { // a bracket that comes first is itself
				out.WriteString(`\]`)
				i++
			}
		case python && !inClass && upTo.MatchString(pattern[i:]):
			out.WriteString("{0,")
			i++
		default:
			out.WriteByte(c)
		}
	}
	return out.String(), nil
}
