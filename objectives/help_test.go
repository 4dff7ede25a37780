package objectives

import (
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	if got := strings.Join(wrap("one two  three fourfivesix é ü", 7), "|"); got != "one two|three|fourfivesix|é ü" {
		t.Errorf("%q", got)
	}
}
