package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestShown(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "",
		"a plain text, äöü 猫":        "a plain text, äöü 猫",
		"two\nlines\r\nand\ta tab":   "two lines  and a tab",
		"\x1b[2Jgone\x07\x00\u009b":  "\uFFFD[2Jgone\uFFFD\uFFFD\uFFFD",
		"bad \xff\xfe UTF-8":         "bad \uFFFD UTF-8",
		"a\u202Eb\u2066c\u2028d":     "a\uFFFDb\uFFFDc d",
		strings.Repeat("ä", 3000):    strings.Repeat("ä", 2048) + "...",
		strings.Repeat("\x01", 3000): strings.Repeat("\uFFFD", 4096/3) + "...",
		strings.Repeat("\x80", 5000): "\uFFFD...", // a run of bytes that begin no character
	} {
		if got := Shown(text); got != want || !utf8.ValidString(got) {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
	err := Plain(errors.Join(io.EOF, errors.New("\x1b[1m")))
	if err.Error() != "EOF \uFFFD[1m" || !errors.Is(err, io.EOF) {
		t.Errorf("the error is %q", err)
	}
	if Plain(nil) != nil || Plain(io.EOF) != io.EOF {
		t.Error("what needs no change is changed")
	}
}

// TestPlainJSON: a value of another kind is named by its key, behind what an error says of its file.
func TestPlainJSON(t *testing.T) {
	var into struct {
		Width int `json:"width"`
	}
	for text, want := range map[string]string{
		`{"width": "4"}`: "a.json: width is of the type string, and another is wanted",
		`[1]`:            "a.json: the value is of the type array, and another is wanted",
	} {
		err := Plain(fmt.Errorf("a.json: %w", json.Unmarshal([]byte(text), &into)))
		if err.Error() != want {
			t.Errorf("%s gives %v", text, err)
		}
	}
}
