package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestMosesCommands(t *testing.T) {
	patterns := fileWith(t, "patterns", "x-\\d\n\n[a-z]+@[a-z.]+\n")
	for _, test := range []struct {
		args     string
		in, want string
	}{
		{"tokenize -l de", "Das ist's, z.B. a.\nb\n", "Das ist &apos; s , z.B. a .\nb\n"},
		{"tokenize -l=de -moses=2017", "linie a.\n", "linie a.\n"},
		{"tokenize -aggressive -no-escape", "well-known & it's", "well @-@ known & it 's\n"},
		{"tokenize -a --no-escape", "well-known", "well @-@ known\n"},
		{"tokenize -protected " + patterns, "(x-1): a@b.c!\n", "( x-1 ) : a@b.c !\n"},
		{"tokenize", "a.\r\n\n \nb", "a .\n\n \nb\n"},
		{"detokenize -l en", "it &apos;s ( 5 ) .\n", "it's (5).\n"},
		{"normalize -l de -moses 2017", "‚a’ „b“\n", "\"a\" \"b\"\n"},
		{"normalize -l de", "‚a“", "'a\""}, // the end of the text stays as it is
		{"lower", "ÄB İ\nC", "äb i\u0307\nc"},
		{"detruecase", "a . ä\n", "A . Ä\n"},
		{"remove-non-printing", "a\tb\u200Bc", "a b c\n"},
	} {
		code, out, errs := runText(t, test.in, strings.Fields(test.args)...)
		if code != 0 || out != test.want || errs != "" && !strings.HasPrefix(test.args, "detokenize") {
			t.Errorf("%s: exit %d, output %q, messages %q; want %q", test.args, code, out, errs, test.want)
		}
	}
}

func TestTruecaseCommands(t *testing.T) {
	model := filepath.Join(t.TempDir(), "model")
	if code, out, errs := runText(t, "x the Dog\n. The the\n", "truecase-train", "-model", model); code != 0 ||
		out+errs != "" {
		t.Fatalf("exit %d, output %q, messages %q", code, out, errs)
	}
	if code, out, errs := runText(t, "The DOG . Cat\n", "truecase", "-model="+model); code != 0 ||
		out != "the Dog . Cat\n" {
		t.Errorf("exit %d, output %q, messages %q", code, out, errs)
	}
}

func TestMosesCommandWarnings(t *testing.T) {
	if code, out, errs := runText(t, "No. 5\n", "tokenize", "-l", "xx"); code != 0 || out != "No. 5\n" ||
		!strings.Contains(errs, `language "xx"`) {
		t.Errorf("exit %d, output %q, messages %q", code, out, errs)
	}
	if code, _, errs := runText(t, "", "detokenize", "-l", "de"); code != 0 ||
		!strings.Contains(errs, "no rules of its own") {
		t.Errorf("exit %d, messages %q", code, errs)
	}
}

func TestMosesCommandErrors(t *testing.T) {
	bad := fileWith(t, "patterns", "(?<=a)b\n")
	model := fileWith(t, "model", "the\n")
	for _, test := range []struct {
		args, in string
		code     int
		part     string
	}{
		{"tokenise", "", 2, `no command "tokenise"`},
		{"tokenize -moses 2018", "", 2, "it wants one of 2017, current"},
		{"normalize -moses 2018", "", 2, "it wants one of 2017, current"},
		{"tokenize -penn", "", 2, "unknown flag -penn"},
		{"tokenize file.de", "", 2, "standard input"},
		{"lower -x", "", 2, "lower -h"},
		{"tokenize -protected /nowhere/patterns", "", 1, "/nowhere/patterns"},
		{"tokenize -protected " + bad, "", 1, "look-around"},
		{"tokenize", "a\nb\xFF\n", 1, "standard input:2:"},
		{"normalize", "b\xFF\n", 1, "standard input:1:"},
		{"tokenize -protected no\x1b[2Jwhere", "", 1, "there is no file no\uFFFD[2Jwhere\n"},
		{"tokenize -\x1b[2J", "", 2, "unknown flag -\uFFFD[2J:"},
		{"truecase", "", 2, "-model is missing: give the"},
		{"truecase-train", "", 2, "-model is missing: give the"},
		{"truecase -model /nowhere/model", "", 1, "/nowhere/model"},
		{"truecase -model " + model, "", 1, "model:1:"},
		{"clean a b", "", 2, "PREFIX L1 L2 OUT"},
		{"clean -min 5 -max 3 a b c d", "", 2, "5 to 3"},
		{"clean /nowhere/a b c d", "", 1, "/nowhere/a.b"},
	} {
		code, _, errs := runText(t, test.in, strings.Fields(test.args)...)
		if code != test.code || !strings.Contains(errs, test.part) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: exit %d, messages %q; want exit %d and one line with %q", test.args, code, errs, test.code,
				test.part)
		}
	}
}

func TestToolsHelp(t *testing.T) {
	for _, c := range tools() {
		if code, out, errs := runText(t, "", c.name, "-h"); code != 0 || !strings.HasPrefix(out, "text "+c.name+": ") ||
			!strings.Contains(out, "\nUsage: go run ./runs/text "+c.name) || errs != "" {
			t.Errorf("%s -h: exit %d, output %q, messages %q", c.name, code, out, errs)
		}
	}
	if code, out, _ := runText(t, "", "-h"); code != 0 || !strings.Contains(out, "  truecase-train  ") {
		t.Errorf("-h: exit %d, output %q", code, out)
	}
	if code, _, errs := runText(t, ""); code != 2 || !strings.Contains(errs, "Commands:") {
		t.Errorf("without a command: exit %d, messages %q", code, errs)
	}
}

// corpusOf writes a parallel corpus and returns its prefix.
func corpusOf(t *testing.T, de, en string) string {
	t.Helper()
	prefix := filepath.Join(t.TempDir(), "corpus")
	for suffix, text := range map[string]string{".de": de, ".en": en} {
		if err := os.WriteFile(prefix+suffix, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return prefix
}

func contents(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestCleanCommand(t *testing.T) {
	prefix := corpusOf(t, "a  b\n\nc d e f\ng h\n", "a b\nx\nc\ng h i\n")
	var packed bytes.Buffer // the English side comes from a .gz
	w := gzip.NewWriter(&packed)
	w.Write([]byte(contents(t, prefix+".en")))
	w.Close()
	if err := os.WriteFile(prefix+".en.gz", packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	os.Remove(prefix + ".en")
	out := filepath.Join(t.TempDir(), "out")
	code, printed, errs := runText(t, "", "clean", "-min", "1", "-max", "175", "-ratio", "1.5", "-lines-retained",
		out+".lines", prefix, "de", "en", out)
	if code != 0 || printed != "" || !strings.Contains(errs, "Input sentences: 4  Output sentences:  2\n") {
		t.Errorf("exit %d, output %q, messages %q", code, printed, errs)
	}
	for suffix, want := range map[string]string{".de": "a b\ng h\n", ".en": "a b\ng h i\n", ".lines": "1\n4\n"} {
		if got := contents(t, out+suffix); got != want {
			t.Errorf("%s is %q, want %q", suffix, got, want)
		}
	}
}

func TestCleanCommandRefuses(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	for _, test := range []struct{ de, en, part string }{
		{"a\nb\n", "a\n", ".en ends after 1 lines"},
		{"a\n", "a\nb\n", ".de ends after 1 lines"},
		{"a|b\na|\na |c\n", "a\nb\nc d\n", "line 3 of"},
		{"a\n\xFF\n", "a\nb\n", ".de:2:"},
		{"a\nb\n", "a\n\xFF\n", ".en:2:"},
	} {
		code, _, errs := runText(t, "", "clean", corpusOf(t, test.de, test.en), "de", "en", out)
		if code != 1 || !strings.Contains(errs, test.part) {
			t.Errorf("%q %q: exit %d, messages %q; want exit 1 and %q", test.de, test.en, code, errs, test.part)
		}
	}
	prefix := corpusOf(t, "a\n", "a\n")
	if code, _, errs := runText(t, "", "clean", prefix, "de", "en", prefix); code != 2 ||
		!strings.Contains(errs, "choose another OUT") {
		t.Errorf("writing over the input: exit %d, messages %q", code, errs)
	}
	if err := os.Symlink(prefix+".en", out+".de"); err != nil {
		t.Fatal(err)
	}
	for says, args := range map[string][]string{
		"choose another OUT":                {prefix, "de", "en", filepath.Dir(prefix) + "/./" + filepath.Base(prefix)},
		out + ".de would be read":           {prefix, "de", "en", out},
		"would be read and written":         {"-lines-retained", prefix + ".en", prefix, "de", "en", out + "2"},
		out + "3.de would be written twice": {"-lines-retained", out + "3.de", prefix, "de", "en", out + "3"},
	} {
		if code, _, errs := runText(t, "", append([]string{"clean"}, args...)...); code != 2 || !strings.Contains(errs, says) {
			t.Errorf("%q: exit %d, messages %q", args, code, errs)
		}
	}
	if contents(t, prefix+".de") != "a\n" || contents(t, prefix+".en") != "a\n" {
		t.Error("the input was overwritten")
	}
	// A link stays, and what it points to is written.
	target := filepath.Join(t.TempDir(), "target")
	if err := errors.Join(os.WriteFile(target, nil, 0o666), os.Symlink(target, out+"4.de")); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := runText(t, "", "clean", prefix, "de", "en", out+"4"); code != 0 || contents(t, target) != "a\n" {
		t.Errorf("through a link: exit %d, messages %q", code, errs)
	}
}

// TestModelIntoStdout: a file into which the shell has directed /dev/stdout is added to, as with >>, not replaced.
func TestModelIntoStdout(t *testing.T) {
	if link := os.Getenv("APERTURE_TEST_STDOUT"); link != "" {
		runText(t, "The cat sat .\n", "truecase-train", "-model", link)
		os.Exit(0)
	}
	folder := t.TempDir()
	link, path := filepath.Join(folder, "stdout"), filepath.Join(folder, "model")
	if err := os.Symlink("/proc/self/fd/1", link); err != nil { // as /dev/stdout is
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	file.WriteString("before\n")
	program := exec.Command(os.Args[0], "-test.run=^TestModelIntoStdout$")
	program.Env, program.Stdout = append(os.Environ(), "APERTURE_TEST_STDOUT="+link), file
	if err := program.Run(); err != nil {
		t.Fatal(err)
	}
	if text := contents(t, path); text != "before\ncat (1/1)\nsat (1/1)\n" {
		t.Errorf("the file holds %q", text)
	}
}
