package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/runs/internal/command"
)

// demands are what -prefix, -terms and -keep ask of translations.
type demands struct {
	path     string // of -prefix
	prefixes []string
	terms    *translation.Glossary
	keep     []*regexp.Regexp
}

func (f *flags) demands(ctx context.Context, t *translation.Translator) (d demands, err error) {
	for _, pattern := range f.Keep {
		compiled, err := regexp.Compile(pattern)
		if err != nil {
			return d, command.Usagef("-keep %q is no regular expression of Go (RE2's syntax): %v", pattern, err)
		}
		d.keep = append(d.keep, compiled)
	}
	if f.Prefix != "" {
		lines, err := t.Settings.Lines.ReadLines(f.Prefix, "-prefix")
		if err != nil {
			return d, err
		}
		d.path, d.prefixes = f.Prefix, lines.Lines
	}
	if f.Terms != "" {
		d.terms, err = readTerms(ctx, t, f.Terms)
	}
	return d, err
}

// readTerms reads a file of terms; empty lines say nothing.
func readTerms(ctx context.Context, t *translation.Translator, path string) (*translation.Glossary, error) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return nil, nil // a list of no terms
	}
	lines, err := t.Settings.Lines.ReadLines(path, "-terms")
	if err != nil {
		return nil, err
	}
	var terms []translation.Term
	var at []int // the line of each
	for i, line := range lines.Lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		source, target, found := strings.Cut(line, "\t")
		if !found || strings.Contains(target, "\t") || strings.TrimSpace(source) == "" || strings.TrimSpace(target) == "" {
			return nil, fmt.Errorf("%s:%d: a line is a source, a tab and its translation", path, i+1)
		}
		terms, at = append(terms, translation.Term{Source: source, Target: target}), append(at, i+1)
	}
	g, err := t.Glossary(ctx, terms)
	var bad *translation.TermError
	if errors.As(err, &bad) {
		return nil, fmt.Errorf("%s:%d: %w", path, at[bad.Term], bad.Err)
	}
	return g, err
}

// of are the requests of lines, the first of which is line `first` of the input.
func (d demands) of(first int, lines []string) ([]translation.Request, error) {
	if d.path != "" && first+len(lines) > len(d.prefixes) {
		return nil, fmt.Errorf("%s has %d lines, and standard input has more: give one prefix for each line, empty for none",
			d.path, len(d.prefixes))
	}
	requests := make([]translation.Request, len(lines))
	for i, line := range lines {
		requests[i] = translation.Request{Line: line, Terms: d.terms, Keep: d.keep}
		if d.path != "" {
			requests[i].Prefix = d.prefixes[first+i]
		}
	}
	return requests, nil
}

// allUsed is an error where there are more prefixes than lines.
func (d demands) allUsed(lines int) error {
	if d.path != "" && lines < len(d.prefixes) {
		return fmt.Errorf("%s has %d lines, and standard input has %d: give one prefix for each line, empty for none",
			d.path, len(d.prefixes), lines)
	}
	return nil
}
