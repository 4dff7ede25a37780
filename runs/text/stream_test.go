package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

func over(in io.Reader, out io.Writer) streams { return streams{in: in, out: out} }

func shout(line string) (string, error) { return strings.ToUpper(line), nil }

func TestEachLine(t *testing.T) {
	for _, c := range []struct{ in, each, exact string }{
		{"", "", ""},
		{"a\n\nb\n", "A\n\nB\n", "A\n\nB\n"},
		{"a\nb", "A\nB\n", "A\nB"},
		{"a\u2028b\rc\n", "A\u2028B\rC\n", "A\u2028B\rC\n"},
	} {
		var each, exact bytes.Buffer
		if err := over(strings.NewReader(c.in), &each).eachLine(false, shout); err != nil || each.String() != c.each {
			t.Errorf("%q: %q, %v", c.in, each.String(), err)
		}
		if err := over(strings.NewReader(c.in), &exact).eachLine(true, shout); err != nil || exact.String() != c.exact {
			t.Errorf("%q: %q, %v", c.in, exact.String(), err)
		}
	}
}

// A program at the other end of the pipe gets each answer before it sends more,
// also when half of the next line is on its way.
func TestEachLineFlushesWhenTheInputPauses(t *testing.T) {
	in, send := io.Pipe()
	receive, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- over(in, out).eachLine(false, shout) }()
	answers := make(chan string)
	go func() {
		lines := bufio.NewScanner(receive)
		for lines.Scan() {
			answers <- lines.Text()
		}
	}()
	for _, step := range []struct{ send, want string }{{"one\ntw", "ONE"}, {"o\n", "TWO"}, {"three\n", "THREE"}} {
		if _, err := io.WriteString(send, step.send); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-answers:
			if got != step.want {
				t.Errorf("got %q, want %q", got, step.want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("no answer to %q", step.send)
		}
	}
	send.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestEachLineErrors(t *testing.T) {
	var out bytes.Buffer
	err := over(strings.NewReader("a\nb\xe4\nc\n"), &out).eachLine(false, shout)
	if err == nil ||
		!strings.HasPrefix(err.Error(), "standard input:2: byte 2 of the line (0xE4) is not valid UTF-8; convert") {
		t.Errorf("bad UTF-8: %v", err)
	}
	if out.String() != "A\n" {
		t.Errorf("before the bad line: %q", out.String())
	}
	err = over(strings.NewReader("a\nb\n"), io.Discard).eachLine(false, func(line string) (string, error) {
		if line == "b" {
			return "", errors.New("no b please")
		}
		return line, nil
	})
	if err == nil || err.Error() != "standard input:2: no b please" {
		t.Errorf("refused line: %v", err)
	}
	if err := over(strings.NewReader("a\n"), fullDisk{}).eachLine(false, shout); err == nil ||
		!strings.Contains(err.Error(), "disk full") {
		t.Errorf("full disk: %v", err)
	}
}

// Packed input is unpacked, from a pipe and from files, and what is wrong with it is reported in a line.
func TestPackedInput(t *testing.T) {
	const text = "a b\nc\n"
	byGzip, byZstandard := fixtures.Gzip(t, text), fixtures.Zstandard(t, text)
	for _, in := range []string{byGzip, byZstandard} {
		if code, out, errs := runText(t, in, "lower"); code != 0 || out != text {
			t.Errorf("lower: exit %d, %q, %q", code, out, errs)
		}
	}
	path := strings.TrimSuffix(fileWith(t, "text.zst", byZstandard), ".zst")
	if code, out, errs := runText(t, "", "vocab", path); code != 0 || out != "a 1\nb 1\nc 1\n" {
		t.Errorf("vocab: exit %d, %q, %q", code, out, errs)
	}
	for _, in := range []string{byGzip[:len(byGzip)-6], "BZh91AY&SY"} {
		if code, _, errs := runText(t, in, "lower"); code != 1 ||
			!strings.HasPrefix(errs, "text lower: standard input: it") || strings.Count(errs, "\n") != 1 {
			t.Errorf("exit %d, %q", code, errs)
		}
	}
}
