package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// runText runs the program and returns its exit code and what it printed.
func runText(t *testing.T, in string, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = execute(args, strings.NewReader(in), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func fileWith(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

const toyDict = "low 5\nlower 2\nnewest 6\nwidest 3\n"

const toyCodes = "#version: 0.2\ns t</w>\ne st</w>\nl o\nw est</w>\nn e\nne west</w>\nlo w</w>\nw i\nwi d\nwid " +
	"est</w>\nw e\nwe r</w>\nlo wer</w>\n"

func TestLearnCommand(t *testing.T) {
	code, out, errs := runText(t, toyDict, "bpe-learn", "-s", "15", "-dict-input")
	if code != 0 || out != toyCodes || !strings.Contains(errs, "no pair has frequency >= 2") {
		t.Errorf("exit %d, codes %q, messages %q", code, out, errs)
	}
	var plain strings.Builder
	for _, row := range strings.Split(strings.TrimSpace(toyDict), "\n") {
		word, n, _ := strings.Cut(row, " ")
		plain.WriteString(strings.Repeat(word+"\n", int(n[0]-'0')))
	}
	if code, out, errs := runText(t, plain.String(), "bpe-learn", "-s", "3"); code != 0 ||
		out != "#version: 0.2\ns t</w>\ne st</w>\nl o\n" || errs != "" {
		t.Errorf("exit %d, codes %q, messages %q", code, out, errs)
	}
	if code, out, _ := runText(t, toyDict, "bpe-learn", "-s", "15", "-dict-input", "-min-frequency=9"); code != 0 ||
		out != "#version: 0.2\ns t</w>\ne st</w>\n" {
		t.Errorf("exit %d, codes %q", code, out)
	}
	code, out, errs = runText(t, toyDict, "bpe-learn", "-s", "13", "-dict-input", "-total-symbols")
	if want := "#version: 0.2\ns t</w>\ne st</w>\n"; code != 0 || out != want ||
		!strings.Contains(errs, "8 characters inside words and 3 at their ends leave 2 merges") {
		t.Errorf("exit %d, codes %q, messages %q", code, out, errs)
	}
}

func TestLearnCommandJoinsFiles(t *testing.T) {
	de, en := fileWith(t, "train.de", "ab ab\n"), fileWith(t, "train.en", "abc abc")
	code, joint, _ := runText(t, "", "bpe-learn", "-s", "5", de, en)
	_, single, _ := runText(t, "ab ab\nabc abc\n", "bpe-learn", "-s", "5")
	if code != 0 || joint != single || joint != "#version: 0.2\nb c</w>\na bc</w>\na b</w>\n" {
		t.Errorf("exit %d: joint %q, single %q", code, joint, single)
	}
}

func TestApplyAndUndoCommands(t *testing.T) {
	codes := fileWith(t, "codes", toyCodes)
	vocabulary := fileWith(t, "vocabulary", "newest 9\nlo@@ 4\nw 3\nlow 1\n")
	text := "low lowest  newest\n\n lower \r\nwidest"
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "low lo@@ west newest\n\n lower \r\nwidest"},
		{[]string{"-merges", "3"}, "lo@@ w lo@@ w@@ est n@@ e@@ w@@ est\n\n lo@@ w@@ e@@ r \r\nw@@ i@@ d@@ est"},
		{[]string{"-merges=0", "-separator", "|"},
			"l| o| w l| o| w| e| s| t n| e| w| e| s| t\n\n l| o| w| e| r \r\nw| i| d| e| s| t"},
		{[]string{"-vocabulary", vocabulary, "-vocabulary-threshold", "3"},
			"lo@@ w lo@@ w@@ e@@ s@@ t newest\n\n lo@@ w@@ e@@ r \r\nw@@ i@@ d@@ e@@ s@@ t"},
		{[]string{"-glossary", "owe", "-glossary", `wid\w*`}, "low l@@ owe@@ st newest\n\n l@@ owe@@ r \r\nwidest"},
		{[]string{"-dropout", "1", "-seed", "7"},
			"l@@ o@@ w l@@ o@@ w@@ e@@ s@@ t n@@ e@@ w@@ e@@ s@@ t\n\n l@@ o@@ w@@ e@@ r \r\nw@@ i@@ d@@ e@@ s@@ t"},
	} {
		args := append([]string{"bpe-apply", "-c", codes}, c.args...)
		code, out, errs := runText(t, text, args...)
		if code != 0 || out != c.want || errs != "" {
			t.Errorf("%q: exit %d, %q\n got %q\nwant %q", c.args, code, errs, out, c.want)
		}
		if len(c.args) == 3 {
			continue
		}
		if _, back, _ := runText(t, out, "bpe-undo"); back != strings.ReplaceAll(text, "  ", " ") {
			t.Errorf("%q: came back as %q", c.args, back)
		}
	}
	if _, back, _ := runText(t, "l| o| w\n", "bpe-undo", "-separator", "|"); back != "low\n" {
		t.Errorf("undone to %q", back)
	}
	if code, _, errs := runText(t, "low", "bpe-apply", "-c", codes, "-vocabulary", vocabulary,
		"-vocabulary-threshold=99"); code != 0 || !strings.Contains(errs, "nothing is undone") {
		t.Errorf("exit %d, messages %q", code, errs)
	}
}

func TestVocabCommand(t *testing.T) {
	if code, out, _ := runText(t, "b a@@ c\nc c b\n", "vocab"); code != 0 || out != "c 3\nb 2\na@@ 1\n" {
		t.Errorf("exit %d, %q", code, out)
	}
}

func TestBPECommandsRefuse(t *testing.T) {
	codes := fileWith(t, "codes", "#version: 0.2\nabc\n")
	good := fileWith(t, "good", toyCodes)
	for _, c := range []struct {
		in   string
		args []string
		code int
		want string
	}{
		{"", []string{"bpe-learn", "-s", "-3"}, 2, "-symbols=-3: it wants a whole number of at least 0"},
		{"", []string{"bpe-learn", "-s", "many"}, 2, "many"},
		{"", []string{"bpe-learn", "-min-frequency", "0"}, 2,
			"-min-frequency=0: it wants a whole number of at least 1"},
		{"", []string{"bpe-learn", "-no-such-flag"}, 2, "no-such-flag"},
		{"low\n", []string{"bpe-learn", "-dict-input"}, 1,
			`standard input:1: expected a word, one space and its count, not "low"`},
		{"a\n\xfcb\n", []string{"bpe-learn"}, 1, "standard input:2: byte 1 of the line (0xFC) is not valid UTF-8"},
		{"", []string{"bpe-learn", codes + ".missing"}, 1, "codes.missing"},
		{"a\n", []string{"bpe-apply"}, 2, "-codes is missing: give the codes file"},
		{"a\n", []string{"bpe-apply", "-c", codes + ".missing"}, 1, "codes.missing"},
		{"a\n", []string{"bpe-apply", "-c", codes}, 1, codes + `:2: a merge is two symbols`},
		{"a\n\xfc\n", []string{"bpe-apply", "-c", good}, 1,
			"standard input:2: byte 1 of the line (0xFC) is not valid UTF-8"},
		{"a\n", []string{"bpe-apply", "-c", good, "-seed", "5"}, 2, "-seed goes with -dropout"},
		{"a\n", []string{"bpe-apply", "-c", good, "-dropout", "2"}, 2, "-dropout=2: it wants a number from 0 to 1"},
		{"a\n", []string{"bpe-apply", "-c", good, "-glossary", "(?=a)"}, 2,
			"look-around and back-references are not supported"},
		{"a\n", []string{"bpe-apply", "-c", good, "-vocabulary-threshold", "3"}, 2,
			"-vocabulary-threshold goes with -vocabulary"},
		{"a\n", []string{"bpe-apply", "-c", good, "-vocabulary", codes}, 1, codes + ":1: the count of"},
		{"a\n", []string{"bpe-apply", "-c", good, "text.de"}, 2, `unexpected argument "text.de"`},
		{"a\n", []string{"bpe-undo", "-separator", ""}, 2, "-separator is missing: give the mark"},
		{"\xff\n", []string{"vocab"}, 1, "standard input:1"},
	} {
		code, _, errs := runText(t, c.in, c.args...)
		if code != c.code || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: exit %d, message %q, want exit %d and %q", c.args, code, errs, c.code, c.want)
		}
	}
}
