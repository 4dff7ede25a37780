package experiment

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/runs/internal/command"
)

// TestMethodHelp: -method=help prints each method, what it joins with, on lines that fit a screen, and ends well.
func TestMethodHelp(t *testing.T) {
	spec := testSpec(t)
	if _, err := Parse(spec, []string{"-method=help"}); !errors.Is(err, command.ErrHelp) || command.ExitCode(err) != 0 {
		t.Errorf("it gave %v", err)
	}
	help := spec.Stdout.(*bytes.Buffer).String()
	for line := range strings.Lines(help) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 120 {
			t.Errorf("a line of %d letters: %q", n, line)
		}
	}
	for _, row := range objectives.Methods() {
		_, entry, found := strings.Cut(help, "\n\n"+row.Name+"\n")
		if !found {
			t.Errorf("there is no %s", row.Name)
			continue
		}
		entry, _, _ = strings.Cut(entry, "\n\n")
		text := strings.Join(strings.Fields(entry), " ")
		for _, part := range []string{"minimises " + row.Formula + " parameters " + row.Parameters + " cost " +
			row.Cost + " joins with"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s is described as %q, which lacks %q", row.Name, text, part)
			}
		}
		if _, joins, _ := strings.Cut(text, "joins with "); row.Name == "spectrum" &&
			(!strings.Contains(joins, "cosreg") || !strings.Contains(joins, "adversarial")) {
			t.Errorf("spectrum joins with %q", joins)
		}
	}
}

// TestUnknownMethods: the sentence names the nearest one.
func TestUnknownMethods(t *testing.T) {
	for name, nearest := range map[string]string{"spektrum": "spectrum", "mle+spectrumpoly": "spectrum-poly",
		"mel": "mle"} {
		_, err := Parse(testSpec(t), []string{"-method", name})
		if err == nil || command.ExitCode(err) != 2 || !strings.Contains(err.Error(), "there is no method") ||
			!strings.HasSuffix(err.Error(), "; did you mean "+nearest+"?") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := Parse(testSpec(t), []string{"-method=mle+spectrum"})
	if err == nil || command.ExitCode(err) != 2 || strings.Contains(err.Error(), "did you mean") {
		t.Errorf("methods that do not join: %v", err)
	}
}
