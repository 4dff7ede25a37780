package corpus

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Pair is a sentence and its translation as ids, without the end of sentence, which batches add.
type Pair struct {
	Source, Target []int32
	Line           int // in the files it was read from, counted from 1
}

// Pairs are sentence pairs by number: a List in memory, a Store, or what Filter left of either.
type Pairs interface {
	Len() int
	// Lengths are those of both sides of pair i, in tokens, without the end of sentence.
	Lengths(i int) (source, target int)
	At(i int) Pair
}

// List is pairs in memory.
type List []Pair

func (l List) Len() int                           { return len(l) }
func (l List) Lengths(i int) (source, target int) { return len(l[i].Source), len(l[i].Target) }
func (l List) At(i int) Pair                      { return l[i] }

// Tokens counts the target tokens of pairs, ends of sentences included.
func Tokens(pairs Pairs) (n int) {
	for i := range pairs.Len() {
		_, target := pairs.Lengths(i)
		n += target + 1
	}
	return n
}

// Encode turns parallel lines into pairs. Without targets, targets and encodeTarget are nil.
func Encode(sources, targets []string, encodeSource, encodeTarget func(line string) []int32) List {
	pairs := make(List, len(sources))
	for i, line := range sources {
		pairs[i] = Pair{Source: encodeSource(line), Line: i + 1}
		if targets != nil {
			pairs[i].Target = encodeTarget(targets[i])
		}
	}
	return pairs
}

// Limits are keys of the section data that say which pairs are good for training, by tokens without the end of
// sentence. Zero is no limit; empty sides are never good.
type Limits struct {
	MaxLength int     `toml:"max_length" default:"0" range:"[0,inf)" help:"training pairs with more symbols than this on either side are dropped; 0 is no limit"`
	MaxRatio  float64 `toml:"max_ratio" default:"0.0" range:"[0,inf)" help:"training pairs whose longer side exceeds the shorter by this factor are dropped; 0 is no limit"`
}

// Check reports limits that would drop every pair.
func (l Limits) Check() error {
	if l.MaxRatio > 0 && l.MaxRatio < 1 {
		return fmt.Errorf("data.max_ratio = %g would drop every pair: it wants 0 or at least 1", l.MaxRatio)
	}
	return nil
}

// FilterReport counts what Filter did, each pair under the first reason: empty, too long, ratio.
type FilterReport struct {
	Read, Kept            int
	Tokens                int // of the target, of what was kept, ends of sentences included
	Empty, TooLong, Ratio int
	Limits                Limits
	Longest               []Dropped // the ten longest dropped pairs, longest first
}

// Dropped describes a pair that was left out.
type Dropped struct {
	Line                       int
	SourceLength, TargetLength int
	Reason                     string
}

const reportedPairs = 10

// selection is some of other pairs.
type selection struct {
	Pairs
	kept []int32
}

func (s selection) Len() int                           { return len(s.kept) }
func (s selection) Lengths(i int) (source, target int) { return s.Pairs.Lengths(int(s.kept[i])) }
func (s selection) At(i int) Pair                      { return s.Pairs.At(int(s.kept[i])) }

// Filter returns the pairs within the limits, in their order, and a report. It is an error if none is left.
func Filter(pairs Pairs, limits Limits) (left Pairs, report FilterReport, err error) {
	err = reading(pairs, func() (err error) {
		left, report, err = filter(pairs, limits)
		return err
	})
	return left, report, err
}

func filter(pairs Pairs, limits Limits) (Pairs, FilterReport, error) {
	report := FilterReport{Read: pairs.Len(), Limits: limits}
	var dropped []Dropped
	kept := make([]int32, 0, report.Read)
	for i := range report.Read {
		source, target := pairs.Lengths(i)
		reason := limits.judge(source, target)
		switch reason {
		case "":
			kept = append(kept, int32(i))
			report.Tokens += target + 1
			continue
		case reasonEmpty:
			report.Empty++
		case reasonLong:
			report.TooLong++
		case reasonRatio:
			report.Ratio++
		}
		dropped = append(dropped, Dropped{pairs.At(i).Line, source, target, reason})
		if len(dropped) >= 100*reportedPairs { // now and then, so that millions of them take no memory
			dropped = longest(dropped)
		}
	}
	report.Kept, report.Longest = len(kept), longest(dropped)
	switch {
	case report.Read == 0:
		return nil, report, errors.New("the corpus has no sentence pairs: give files with one sentence a line")
	case len(kept) == 0:
		return nil, report, fmt.Errorf("none of the %d sentence pairs passes the length filter (%d empty, %d too "+
			"long, %d with too different lengths): raise data.max_length or data.max_ratio, or check that the files "+
			"belong together", report.Read, report.Empty, report.TooLong, report.Ratio)
	case report.Kept == report.Read:
		return pairs, report, nil
	}
	return selection{pairs, kept}, report, nil
}

// longest are those to report, of equals the first.
func longest(dropped []Dropped) []Dropped {
	slices.SortStableFunc(dropped, func(a, b Dropped) int {
		return cmp.Compare(max(b.SourceLength, b.TargetLength), max(a.SourceLength, a.TargetLength))
	})
	return slices.Clone(dropped[:min(reportedPairs, len(dropped))])
}

const (
	reasonEmpty = "empty side"
	reasonLong  = "too long"
	reasonRatio = "length ratio"
)

func (l Limits) judge(source, target int) string {
	short, long := min(source, target), max(source, target)
	switch {
	case short == 0:
		return reasonEmpty
	case l.MaxLength > 0 && long > l.MaxLength:
		return reasonLong
	case l.MaxRatio > 0 && float64(long) > l.MaxRatio*float64(short):
		return reasonRatio
	}
	return ""
}

// String gives the counts in one line, and a line for each of the longest dropped pairs.
func (r FilterReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "kept %d of %d sentence pairs", r.Kept, r.Read)
	if r.Kept == r.Read {
		return b.String()
	}
	fmt.Fprintf(&b, "; dropped %d with an empty side", r.Empty)
	if r.Limits.MaxLength > 0 {
		fmt.Fprintf(&b, ", %d longer than %d tokens", r.TooLong, r.Limits.MaxLength)
	}
	if r.Limits.MaxRatio > 0 {
		fmt.Fprintf(&b, ", %d with a length ratio above %g", r.Ratio, r.Limits.MaxRatio)
	}
	for _, d := range r.Longest {
		fmt.Fprintf(&b, "\n  line %d: %d and %d tokens (%s)", d.Line, d.SourceLength, d.TargetLength, d.Reason)
	}
	return b.String()
}
