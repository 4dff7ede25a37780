package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/aperture-ml/aperture/runs/internal/command"
)

// part is one search of a file that names several: sweeps = ["FILE.toml", ...], beside it.
type part struct {
	name  string
	flags flags
}

// parts are the searches of a file that names some, none of one that is a search itself. Each has a folder of its name
// in the sweep's.
func parts(s *search, f *flags) (all []part) {
	for _, name := range s.Sweeps {
		p := part{strings.TrimSuffix(filepath.Base(name), ".toml"), *f}
		p.flags.file = filepath.Join(filepath.Dir(f.file), name)
		p.flags.Out = filepath.Join(f.Out, p.name)
		all = append(all, p)
	}
	return all
}

// runParts does what the command line says for one search after the other. One that has not begun starts whether the
// others go on or not.
func runParts(ctx context.Context, all []part, out, log io.Writer) error {
	searches := make([]*search, len(all))
	for i, p := range all { // a mistake in the last file shows before the first one trains
		s, err := readSearch(p.flags.file)
		if err != nil {
			return err
		}
		if len(s.Sweeps) > 0 {
			return fmt.Errorf("%s names searches, and is one of another file's: name them there", p.flags.file)
		}
		for _, other := range all[:i] {
			if other.flags.Out == p.flags.Out {
				return command.Usagef("%s and %s would both be in %s: give one another name, or leave it out",
					other.flags.file, p.flags.file, p.flags.Out)
			}
		}
		searches[i] = s
	}
	for i, p := range all {
		fmt.Fprintf(out, "%s:\n\n", p.name)
		if _, err := os.Stat(filepath.Join(p.flags.Out, searchFile)); err != nil {
			if p.flags.Table {
				fmt.Fprint(out, "It has not begun.\n\n")
				continue
			}
			p.flags.Resume = "auto"
		}
		if err := runSearch(ctx, searches[i], &p.flags, out, log); err != nil {
			return err
		}
		fmt.Fprintln(out)
	}
	return nil
}
