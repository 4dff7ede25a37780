package keys

import (
	"errors"
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/aperture-ml/aperture/internal/files"
)

// Bounds of TOML text: its bytes, and how deeply brackets and the parts of a dotted name may be nested. A configuration
// has about 20 kB and a depth of 3; the time that a parser takes grows with the square of the depth.
const (
	maxText  = 1 << 20
	maxDepth = 16
)

// Tree is TOML text as read, by section and key.
type Tree map[string]any

// Section is a table of the tree, nil where it has none of that name.
func (t Tree) Section(name string) map[string]any {
	section, _ := t[name].(map[string]any)
	return section
}

// Parse reads TOML; from names the text in errors, which give the line.
func Parse(text, from string) (Tree, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("%s: %d bytes are no configuration, which has at most %d", from, len(text), maxText)
	}
	if line := tooDeep(text); line > 0 {
		return nil, fmt.Errorf("%s: line %d: brackets or names are nested more than %d deep, as in no configuration", from,
			line, maxDepth)
	}
	var tree Tree
	if _, err := toml.Decode(text, (*map[string]any)(&tree)); err != nil {
		var syntax toml.ParseError
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("%s: line %d: %s", from, syntax.Position.Line, oneLine(syntax.Message))
		}
		return nil, fmt.Errorf("%s: %s", from, oneLine(err.Error()))
	}
	return tree, nil
}

// Decode reads TOML into a value whose fields have toml tags, and refuses keys that it has no place for; from names the
// text in errors.
func Decode(text, from string, value any) error {
	if _, err := Parse(text, from); err != nil {
		return err
	}
	read, err := toml.Decode(text, value)
	if err != nil {
		return fmt.Errorf("%s: %s", from, oneLine(strings.TrimPrefix(err.Error(), "toml: ")))
	}
	if unknown := read.Undecoded(); len(unknown) > 0 {
		return fmt.Errorf("%s: unknown key %s: remove it", from, oneLine(unknown[0].String()))
	}
	return nil
}

// tooDeep finds the first line that is nested too deeply, 0 where none is.
func tooDeep(text string) (line int) {
	depth, parts := 0, 0 // open brackets; full stops of a name, or of a number
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '#':
			if end := strings.IndexByte(text[i:], '\n'); end > 0 {
				i += end
			} else {
				i = len(text)
			}
			parts = 0
		case '"', '\'':
			i += quoted(text[i:]) - 1
		case '[', '{':
			depth++
			parts = 0
		case ']', '}':
			depth--
			parts = 0
		case '.':
			parts++
		case ',', '=', '\n':
			parts = 0
		}
		if depth > maxDepth || parts > maxDepth {
			return 1 + strings.Count(text[:i], "\n")
		}
	}
	return 0
}

// quoted is the length of the string that a text begins with: to its end, or to where a parser gives it up.
func quoted(text string) int {
	quote, ends := text[0], text[:1]
	if triple := strings.Repeat(ends, 3); strings.HasPrefix(text, triple) {
		ends = triple
	}
	for i := len(ends); i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case strings.HasPrefix(text[i:], ends):
			return i + len(ends)
		case text[i] == '\n' && len(ends) == 1:
			return i
		}
	}
	return len(text)
}

// longestQuoted bounds what an error quotes of a file, in bytes.
const longestQuoted = 300

// oneLine is what a parser says, or a name or value in a file, in one line, whose end is left out where it is long.
func oneLine(text string) string {
	return strings.Join(strings.Fields(files.ShownAtMost(longestQuoted, text)), " ")
}
