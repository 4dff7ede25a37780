package tokenize

import (
	"fmt"
	"regexp"
	"strings"
)

// CleanOptions are the limits of Moses's clean-corpus-n.
type CleanOptions struct {
	Min, Max      int     // tokens of a sentence, both ends included
	Ratio         float64 // a pair with a greater ratio of tokens, either way round, is dropped; 0 means no limit
	MaxWordLength int     // characters of a word or factor; 0 is Moses's 1000
	Lowercase     bool    // lower-case what is kept
	IgnoreMarkup  bool    // leave out markup in < > when counting tokens
}

// CleanReason says why a sentence pair was dropped.
type CleanReason int

const (
	Kept     CleanReason = iota
	Empty                // a side has no tokens
	TooLong              // a side has more than Max tokens
	TooShort             // a side has fewer than Min tokens
	BadRatio             // the ratio of tokens is greater than Ratio
	LongWord             // a word is longer than MaxWordLength
)

// Cleaner drops sentence pairs that alignment and training stumble over. It reads one corpus in order, in one
// goroutine.
type Cleaner struct {
	options  CleanOptions
	classes  *classTable
	started  bool
	factored bool // words carry factors behind a |
}

// NewCleaner prepares the cleaning of a corpus.
func NewCleaner(options CleanOptions) (*Cleaner, error) {
	switch {
	case options.Min < 0 || options.Max < options.Min:
		return nil, fmt.Errorf("cleaning keeps lengths from min to max: %d to %d is not a range", options.Min,
			options.Max)
	case !(options.Ratio >= 0):
		return nil, fmt.Errorf("the length ratio must be positive, or 0 for no limit: it is %v", options.Ratio)
	case options.MaxWordLength < 0:
		return nil, fmt.Errorf("the longest word must be positive, or 0 for 1000 characters: it is %d",
			options.MaxWordLength)
	}
	if options.MaxWordLength == 0 {
		options.MaxWordLength = 1000
	}
	return &Cleaner{options: options, classes: classes()}, nil
}

// Clean returns a sentence pair with runs of whitespace as one space, and whether it is kept. Every | is deleted unless
// the corpus's first pair holds one, which marks factors; an empty factor is an error.
func (c *Cleaner) Clean(source, target string) (cleanSource, cleanTarget string, reason CleanReason, err error) {
	if !c.started {
		c.started = true
		c.factored = strings.Contains(source, "|") || strings.Contains(target, "|")
	}
	source, target = c.tidy(source), c.tidy(target)
	if source == "" || target == "" {
		return source, target, Empty, nil
	}
	n, m := c.tokens(source), c.tokens(target)
	switch {
	case n > c.options.Max || m > c.options.Max:
		reason = TooLong
	case n < c.options.Min || m < c.options.Min:
		reason = TooShort
	case c.options.Ratio > 0 && (float64(n)/float64(m) > c.options.Ratio || float64(m)/float64(n) > c.options.Ratio):
		reason = BadRatio
	case c.hasLongWord(source) || c.hasLongWord(target):
		reason = LongWord
	}
	if reason != Kept {
		return source, target, reason, nil
	}
	for _, side := range []string{source, target} {
		if strings.Contains(side, " |") || strings.Contains(side, "||") {
			return source, target, Kept, fmt.Errorf("a factor is empty in %q: give every word all of its factors", side)
		}
	}
	return source, target, Kept, nil
}

// tidy returns line ready for counting.
func (c *Cleaner) tidy(line string) string {
	if c.options.Lowercase {
		line = Lowercase(line)
	}
	if !c.factored {
		line = strings.ReplaceAll(line, "|", "")
	}
	return strings.Join(c.classes.fields(line), " ")
}

// markup is what IgnoreMarkup leaves out.
var markup = regexp.MustCompile(`<[^\s\x0B\x{85}\p{Z}][^>]*[^\s\x0B\x{85}\p{Z}]>`)

// tokens counts the tokens of a tidy line.
func (c *Cleaner) tokens(line string) int {
	if c.options.IgnoreMarkup && strings.Contains(line, "<") {
		return len(c.classes.fields(markup.ReplaceAllString(line, " ")))
	}
	return strings.Count(line, " ") + 1
}

// hasLongWord reports whether a word or factor of a tidy line is too long.
func (c *Cleaner) hasLongWord(line string) bool {
	if len(line) <= c.options.MaxWordLength {
		return false
	}
	length := 0
	for _, r := range line {
		if r == ' ' || r == '|' {
			length = 0
		} else if length++; length > c.options.MaxWordLength {
			return true
		}
	}
	return false
}
