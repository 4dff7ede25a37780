package main

import (
	"strings"
	"testing"
)

const toyPairs = "das haus ||| the house\ndas buch ||| the book\nein buch ||| a book\n ||| nothing\nnichts " +
	"|||\n|||\nein haus ||| a house\n"

func TestAlignCommands(t *testing.T) {
	const links = "0-0 1-1\n0-0 1-1\n0-0 1-1\n\n\n\n0-0 1-1\n"
	var files [2]string
	for i, more := range [][]string{nil, {"-r"}} {
		for _, flags := range [][]string{{"-d", "-o", "-v"}, {"-dov", "-i", "3"},
			{"-favor-diagonal", "-iterations=7"}} {
			code, out, errs := runText(t, toyPairs, append(append([]string{"align"}, flags...), more...)...)
			if code != 0 || out != links || errs != "" {
				t.Errorf("%v %v: exit %d, %q, %q", flags, more, code, out, errs)
			}
			files[i] = fileWith(t, "links", out)
		}
	}
	code, out, errs := runText(t, "", "symmetrize", files[0], files[1])
	if code != 0 || out != links || errs != "" {
		t.Errorf("symmetrize: exit %d, %q, %q", code, out, errs)
	}
	code, out, errs = runText(t, toyPairs, "lexicon", "-a", fileWith(t, "both", out))
	if want := "buch\tbook\ndas\tthe\nein\ta\nhaus\thouse\n"; code != 0 || out != want || errs != "" {
		t.Errorf("lexicon: exit %d, %q, %q", code, out, errs)
	}
	if code, out, errs := runText(t, "", "align", "-d"); code != 0 || out != "" || errs != "" {
		t.Errorf("no pairs: exit %d, %q, %q", code, out, errs)
	}
}

// Places of source words come first in both directions.
func TestAlignReverse(t *testing.T) {
	text := strings.Repeat("haus ||| the house\n", 3) + strings.Repeat("haus ||| house\n", 5)
	for _, c := range []struct{ flag, want string }{{"-d", "0-0 0-1"}, {"-dr", "0-1"}} {
		code, out, _ := runText(t, text, "align", "-v", c.flag)
		if first, _, _ := strings.Cut(out, "\n"); code != 0 || first != c.want {
			t.Errorf("%s: exit %d, %q, want %q", c.flag, code, first, c.want)
		}
	}
}

func TestAlignCommandsRefuse(t *testing.T) {
	one, two := fileWith(t, "one", "0-0\n"), fileWith(t, "two", "0-0\n0-0\n")
	bad, far := fileWith(t, "bad", "0-0\n0-0 1:1\n"), fileWith(t, "far", "3-0\n")
	for _, c := range []struct {
		in   string
		args []string
		code int
		want string
	}{
		{"a ||| b\n", []string{"align", "-o"}, 2, "-optimize-tension goes with -favor-diagonal"},
		{"a ||| b\na b\n", []string{"align", "-d"}, 1, "standard input:2: a line is SOURCE ||| TARGET"},
		{"a ||| b\n\n", []string{"align"}, 1, "standard input:2: a line is SOURCE ||| TARGET"},
		{"a ||| b ||| c\n", []string{"align"}, 1, "standard input:1: a line is SOURCE ||| TARGET"},
		{"a|||b\n", []string{"align"}, 1, "standard input:1: a line is SOURCE ||| TARGET"},
		{"a ||| \xff\n", []string{"align"}, 1, "standard input:1: byte 7"},
		{strings.Repeat("a ", 9000) + "|||" + strings.Repeat(" b", 9000) + "\n", []string{"align"}, 1,
			"standard input:1: 9000 words beside 9000 have more than 67108864 possible links"},
		{"", []string{"align", "-i", "0"}, 2, "-iterations=0: it wants a whole number from 1 to 1000"},
		{"", []string{"align", "-x"}, 2, "-x"},
		{"", []string{"align", "pairs"}, 2, `unexpected argument "pairs"`},
		{"", []string{"symmetrize", one}, 2, "two files are needed"},
		{"", []string{"symmetrize", one, two}, 1, "one has 1 lines and " + two + " has 2"},
		{"", []string{"symmetrize", two, bad}, 1, bad + `:2: "1:1" is no link`},
		{"", []string{"symmetrize", one, one + ".missing"}, 1, "one.missing"},
		{"a ||| b\n", []string{"lexicon"}, 2, "-alignment is missing: give the file"},
		{"a ||| b\n", []string{"lexicon", "-a", two}, 1, "1 pairs and 2 lines of links do not belong together"},
		{"a ||| b\n", []string{"lexicon", "-a", far}, 1, far +
			": line 1: link 3-0 points beyond 1 source and 1 target words"},
		{"a b\n", []string{"lexicon", "-a", one}, 1, "standard input:1: "},
		{"a ||| b\n", []string{"lexicon", "-a", bad + ".missing"}, 1, "bad.missing"},
	} {
		code, out, errs := runText(t, c.in, c.args...)
		if code != c.code || out != "" || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: exit %d, output %q, message %q, want exit %d and %q", c.args, code, out, errs, c.code, c.want)
		}
	}
}
