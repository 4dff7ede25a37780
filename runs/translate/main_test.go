package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/runs/internal/command"
)

// TestBadUsage: a command line that means nothing is refused in one sentence, before anything is read.
func TestBadUsage(t *testing.T) {
	for says, args := range map[string][]string{
		"-run is missing":                         nil,
		"unexpected argument \"hund\"":            {"-run", "x", "hund"},
		"-beam=0: it wants a whole number from 1": {"-run", "x", "-beam", "0"},
		"-beam=2000000000: it wants":              {"-run", "x", "-beam=2000000000"},
		"-lenpen=50: it wants":                    {"-run", "x", "-lenpen", "50"},
		"-nbest=-1: it wants":                     {"-run", "x", "-nbest", "-1"},
		"-postprocess=all: it wants":              {"-run", "x", "-postprocess=all"},
		"-int8 computes on the CPU":               {"-run", "x", "-int8", "-device", "cuda"},
		"-int8 does not go with -force":           {"-run", "x", "-int8", "-force", "y"},
		"-beam does not go with -force":           {"-run", "x", "-force", "y", "-beam", "5"},
		"-lenpen does not go with -force":         {"-run", "x", "-force", "y", "-lenpen", "1"},
		"-json does not go with -align":           {"-run", "x", "-json", "-align"},
		"unknown flag":                            {"-run", "x", "-beams", "3"},
	} {
		_, err := parse(args)
		var usage *command.UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", args, err)
		}
	}
	if f, err := parse([]string{"-run", "x", "-beam", "1000"}); err != nil || f.Beam != 1000 {
		t.Errorf("a wide beam: %v", err)
	}
}

// TestOptions: a flag that is given goes before the run's own setting, and one that is left out does not change it.
func TestOptions(t *testing.T) {
	run := decode.Options{Beam: 3, Lenpen: 0.5, Alignment: true, Postprocess: "paper"}
	for args, want := range map[string]decode.Options{
		"":                    run,
		"-beam 1 -lenpen 0":   {Beam: 1, Alignment: true, Postprocess: "paper"},
		"-replace-unk":        run,
		"-replace-unk=false":  {Beam: 3, Lenpen: 0.5, Postprocess: "paper"},
		"-postprocess none":   {Beam: 3, Lenpen: 0.5, Alignment: true, Postprocess: "none"},
		"-align -keep x":      {Beam: 3, Lenpen: 0.5, Alignment: true, Postprocess: "paper", Links: true},
		"-confidence":         {Beam: 3, Lenpen: 0.5, Alignment: true, Postprocess: "paper", Words: true},
		"-nbest 2 -int8=true": {Beam: 3, Lenpen: 0.5, Alignment: true, Postprocess: "paper", NBest: 2, Int8: true},
	} {
		f, err := parse(append([]string{"-run", "x"}, strings.Fields(args)...))
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.options(run)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", args, err, diff)
		}
	}
}

// TestLinesThatAreNoUTF8: they reach the translator, whose error for one line -skip-bad passes over; the lines after
// them follow. A byte order mark at the start goes.
func TestLinesThatAreNoUTF8(t *testing.T) {
	var got []string
	out := &printer{Writer: bufio.NewWriter(io.Discard)}
	err := eachBatch(strings.NewReader("\ufeffone\n\xff\xfe two\nthree\n"), out, 10, func(first int, lines []string) error {
		got = append(got, lines...)
		return nil
	})
	if want := []string{"one", "\xff\xfe two", "three"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

// TestLongLines: of a line beyond the limit comes what shows that it is, the lines after it follow, and long lines make
// small batches.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	var got []int
	calls := 0
	out := &printer{Writer: bufio.NewWriter(io.Discard)}
	err := eachBatch(strings.NewReader("one\n"+strings.Repeat(long+"\n", 50)+"two\n"), out, 1000,
		func(first int, lines []string) error {
			for _, line := range lines {
				got = append(got, len(line))
			}
			return nil
		})
	for _, n := range []int{998, 999, 1000, 1001, 5000} { // behind a byte order mark
		err := eachBatch(strings.NewReader("\ufeff"+long[:n]+"\n"), out, 1000, func(first int, lines []string) error {
			if len(lines) != 1 || len(lines[0]) != min(n, 1001) {
				t.Errorf("of %d bytes behind a mark come %d", n, len(lines[0]))
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	want := append(append([]int{3}, slices.Repeat([]int{1001}, 50)...), 3)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	err = eachBatch(strings.NewReader(strings.Repeat(long+"\n", 50)), out, 1<<20,
		func(first int, lines []string) error {
			if calls++; len(lines) > 8 {
				t.Errorf("a batch of %d lines of 1 MB", len(lines))
			}
			return nil
		})
	if err != nil || calls < 6 {
		t.Errorf("%d batches, %v", calls, err)
	}
}

// TestPackedInput: lines of a packed stream are those of the file, and each line typed into a pipe is answered before
// the next.
func TestPackedInput(t *testing.T) {
	var text strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	out := &printer{Writer: bufio.NewWriter(io.Discard)}
	for how, in := range map[string]string{"plain": text.String(), "gzip": fixtures.Gzip(t, text.String()),
		"Zstandard": fixtures.Zstandard(t, text.String())} {
		var got []string
		err := eachBatch(strings.NewReader(in), out, 1000, func(first int, lines []string) error {
			got = append(got, lines...)
			return nil
		})
		if err != nil || strings.Join(got, "\n")+"\n" != text.String() {
			t.Errorf("%s: %d lines, %v", how, len(got), err)
		}
	}
	if err := eachBatch(strings.NewReader(fixtures.Gzip(t, text.String())[:500]), out, 1000,
		func(int, []string) error { return nil }); err == nil || !strings.Contains(err.Error(), "cut short") {
		t.Errorf("a stream that is cut gives %v", err)
	}
	read, write := io.Pipe()
	answers := make(chan string)
	go func() {
		answers <- fmt.Sprint(eachBatch(read, out, 1000, func(first int, lines []string) error {
			answers <- strings.Join(lines, ",")
			return nil
		}))
	}()
	for _, line := range []string{"one", "two"} {
		fmt.Fprintln(write, line)
		if got := <-answers; got != line {
			t.Errorf("%q is answered by %q", line, got)
		}
	}
	write.Close()
	if got := <-answers; got != "<nil>" {
		t.Error(got)
	}
}
