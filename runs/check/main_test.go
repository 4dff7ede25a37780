package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/runs/internal/command"
)

// Help is printed in place of the check, and what is no flag is refused.
func TestParse(t *testing.T) {
	for _, flag := range []string{"-h", "-help", "--help"} {
		var out bytes.Buffer
		if err := parse([]string{flag}, &out); !errors.Is(err, command.ErrHelp) ||
			!strings.Contains(out.String(), "Usage: go run ./runs/check\n") {
			t.Errorf("%s: %v, %q", flag, err, &out)
		}
	}
	for _, bad := range []string{"-x", "all"} {
		if err := parse([]string{bad}, nil); command.ExitCode(err) != 2 {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
