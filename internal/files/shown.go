package files

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How much of a text from outside is shown, and of an error that tells names of a file, in bytes.
const (
	longestShown = 4096
	longestError = 1000
)

// Shown is a text from outside as one line that a terminal shows and does not obey: at most 4 kB, with U+FFFD for each
// control character and for what is no UTF-8. White space that breaks lines becomes a space.
func Shown(text string) string { return ShownAtMost(longestShown, text) }

// ShownAtMost is Shown with another bound, in bytes; three dots stand for the rest.
func ShownAtMost(longest int, text string) string {
	if len(text) <= longest && utf8.ValidString(text) && !strings.ContainsFunc(text, disturbs) {
		return text
	}
	from := text[:min(len(text), longest+utf8.UTFMax)]
	shown := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) && r != ' ':
			return ' '
		case disturbs(r):
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(from, "\uFFFD"))
	if len(shown) <= longest && len(from) == len(text) {
		return shown
	}
	end := min(len(shown), longest) // U+FFFD may be longer than what it stands for
	for end < len(shown) && !utf8.RuneStart(shown[end]) {
		end--
	}
	return shown[:end] + "..."
}

// disturbs says of a character that it moves a terminal's cursor, or what stands around it: control characters, those
// that break lines, and the marks that turn the direction of writing (Unicode's Bidi_Control), by which a text can
// pretend to be another one.
func disturbs(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}

// Plain is an error whose text is Shown, at most 1 kB, for readers of files whose names and words it tells. One of
// encoding/json says which value of a file is of another kind, without the names of Go's types.
func Plain(err error) error {
	if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) {
		says := fmt.Sprintf("%s is of the type %s, and another is wanted", cmp.Or(wrong.Field, "the value"), wrong.Value)
		return &plainError{err, strings.Replace(err.Error(), wrong.Error(), says, 1)}
	}
	if err == nil || ShownAtMost(longestError, err.Error()) == err.Error() {
		return err
	}
	return &plainError{err, err.Error()}
}

type plainError struct {
	err  error
	text string
}

func (e *plainError) Error() string { return ShownAtMost(longestError, e.text) }
func (e *plainError) Unwrap() error { return e.err }
