package command

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Help says what the program does, how it is called, and what its flags are, with one dash, on lines that fit.
func TestHelp(t *testing.T) {
	fs := Flags("toy")
	fs.StringP("language", "l", "en", "`CODE` of the language")
	fs.Int("jobs", 0, "`N` at a time")
	fs.Bool("lower-case-everything", false, "as it says, "+strings.Repeat("and more ", 12)+"and so on")
	fs.Float64("rate", 0.5, "how fast")
	h := Help{Name: "toy", Summary: "toy plays.", Usage: "[flags] < in", About: "It reads.", Below: "It ends."}
	var out strings.Builder
	if err := h.Parse(fs, []string{"-jobs", "3", "-h"}, &out); !errors.Is(err, ErrHelp) {
		t.Fatal(err)
	}
	want := `toy plays.

Usage: go run ./runs/toy [flags] < in

It reads.

Flags:
  -l, -language CODE   CODE of the language (default en)
  -jobs N              N at a time
  -lower-case-everything
                       as it says, and more and more and more and more and more and more and more and more and
                       more and more and more and more and so on
  -rate N              how fast (default 0.5)
  -h, -help            print this

It ends.
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// What the flags do not take is one sentence that says where they are listed; help that cannot be written is an error.
func TestFlagErrors(t *testing.T) {
	for args, want := range map[string]string{
		"-jbos=3":    "unknown flag -jbos: did you mean -jobs? (toy -h lists the flags)",
		"-jobs":      "-jobs wants a value",
		"-jobs=many": "-jobs=many: it wants a whole number",
		"-rate=fast": "-rate=fast: it wants a number",
		"-all=3":     "-all=3: it wants true or false",
	} {
		fs := Flags("toy")
		fs.Int("jobs", 0, "")
		fs.Float64("rate", 0, "")
		fs.Bool("all", false, "")
		if err := (Help{Name: "toy"}).Parse(fs, []string{args}, nil); ExitCode(err) != 2 || err.Error() != want {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	if err := (Help{Name: "toy"}).Parse(Flags("toy"), []string{"-h"}, full); ExitCode(err) != 1 {
		t.Errorf("a full disk: %v", err)
	}
}
