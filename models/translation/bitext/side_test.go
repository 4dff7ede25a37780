package bitext

import (
	"strings"
	"testing"
)

func TestSingleSpaced(t *testing.T) {
	for _, line := range []string{"", "a", "a b", " a", "a ", "a  b", "a\tb", "a\u00a0b", "a \u2003 b", "ü ß",
		"\xff \xfe", " ", "a\u0085"} {
		if want := strings.Join(strings.Fields(line), " ") == line; singleSpaced(line) != want {
			t.Errorf("%q: %v", line, !want)
		}
	}
}
