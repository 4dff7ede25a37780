package translation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/torch"
)

// Translation is one translation of a line.
type Translation struct {
	Text      string  // running text
	Tokenised string  // the same as words joined by single spaces
	Score     float64 // natural log-probability under the length penalty
	Err       error   // a *LineError where the line cannot be translated; the rest is empty then
	// Details are what decode.Options.Words and Links ask for, nil where neither does, and for a line
	// without words and without a prefix.
	Details *Details
}

// Details are the words of a translation.
type Details struct {
	// Confidence is the probability of a symbol, the geometric mean over the line and its end. It is NaN, and so is that
	// of words, where the output layer finds words by their vectors. A prefix that stands alone has 1.
	Confidence float64
	Words      []Word
}

// Word is a word of a translation, as spaces separate them.
type Word struct {
	Text       string
	Confidence float64 // the probability of its symbols, punctuation that touches it included: their product
	Source     []int   // the words of the raw line that it stands for, counted from 0
}

// ErrNoProbability says that a translation without probabilities was asked for its confidence.
var ErrNoProbability = errors.New(
	"the run's output layer finds words by their vectors and gives them no probability: ask for no confidence")

var errNoUTF8 = errors.New("it is no valid UTF-8: convert the text, for example with iconv")

// LineError says why a line cannot be translated.
type LineError struct {
	Line  int  // counted from 1
	Given bool // it is one of the translations that are given
	Err   error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap is the reason.
func (e *LineError) Unwrap() error { return e.Err }

// Translate returns the best translation of each raw line, in order. The zero Options are the run's own settings;
// others count as they are, so start from Settings.Decode to change one. An empty line gives an empty translation. A
// line that is no valid UTF-8, longer than data.max_line or the model's positions, or holds the padding's name as a
// symbol, or for which the search finds nothing, has an error of its own and leaves the others whole; Translate itself
// fails where the options make no sense, where ctx is cancelled, with its cause, and where there is not enough memory.
//
// No translation depends on what other lines there are.
func (t *Translator) Translate(ctx context.Context, lines []string, o decode.Options) ([]Translation, error) {
	all, err := t.TranslateNBest(ctx, lines, o)
	if err != nil {
		return nil, err
	}
	best := make([]Translation, len(all))
	for i, list := range all {
		if len(list) > 0 {
			best[i] = list[0]
		}
	}
	return best, nil
}

// TranslateNBest returns the o.NBest best translations of each raw line, best first, and otherwise is as Translate.
func (t *Translator) TranslateNBest(ctx context.Context, lines []string, o decode.Options) ([][]Translation, error) {
	requests := make([]Request, len(lines))
	for i, line := range lines {
		requests[i].Line = line
	}
	return t.TranslateRequests(ctx, requests, o)
}

// TranslateRequests is TranslateNBest of lines whose translations must hold a prefix, terms or parts of the line. Each
// of them does, in every translation. A line whose demands do not fit into the longest translation, or that the output
// layer cannot meet, has an error of its own.
func (t *Translator) TranslateRequests(ctx context.Context, requests []Request, o decode.Options) (all [][]Translation,
	err error) {
	if o == (decode.Options{}) {
		o = t.Settings.Decode
	}
	if err := t.checkOptions(o); err != nil {
		return nil, err
	}
	all = make([][]Translation, len(requests))
	var sentences []*sentence
	var places []int // of the lines that are searched for
	for i, r := range requests {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		s, err := t.read(r)
		switch {
		case err != nil:
			all[i] = []Translation{{Err: &LineError{Line: i + 1, Err: err}}}
		case len(s.ids) == 0:
			all[i] = []Translation{s.empty(o)}
		default:
			sentences, places = append(sentences, s), append(places, i)
		}
	}
	err = t.Queue(ctx, func() error {
		return t.search(ctx, sentences, o, func(k int, found []found, err error) {
			i := places[k]
			if err != nil {
				all[i] = []Translation{{Err: &LineError{Line: i + 1, Err: err}}}
				return
			}
			for _, x := range t.write(sentences[k], found, o) {
				all[i] = append(all[i], x.Translation)
			}
		})
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// read gives a request as the search takes it, or says why it cannot be translated. It leaves tensors alone, and may be
// called from any goroutine.
func (t *Translator) read(r Request) (s *sentence, err error) {
	s = &sentence{line: r.Line}
	s.ids, s.symbols, err = t.encode(t.Text.Source, r.Line)
	if err != nil || r.Prefix == "" && r.Terms == nil && len(r.Keep) == 0 && len(r.KeepAt) == 0 {
		return s, err
	}
	s.demand, err = t.demands(r, t.Text.Source.Join(slices.Clone(s.symbols)))
	return s, err
}

// lengthError says that a line is longer than the model's positions.
type lengthError struct{ text string }

func (e *lengthError) Error() string { return e.text }

// encode gives a raw line of a side as ids and as symbols, or says why it is refused. A line that is too long is
// refused as soon as that is sure: by its bytes, then by its words, each of which is a symbol or more.
func (t *Translator) encode(side *bitext.Side, line string) (ids []int32, symbols []string, err error) {
	positions := t.Settings.Model.MaxPositions
	tooLong := func(n int, what string) error {
		return &lengthError{fmt.Sprintf("it has %d %s with its end, and the model has %d positions: split it, or train "+
			"with a larger model.max_positions", n, what, positions)}
	}
	if err := t.readable(line); err != nil {
		return nil, nil, err
	}
	tokenised := side.Tokenize(line)
	if n := side.AtLeast(tokenised) + 1; n > positions {
		return nil, nil, tooLong(n, "symbols or more")
	}
	symbols = side.Units(tokenised)
	if n := len(symbols) + 1; n > positions {
		return nil, nil, tooLong(n, "symbols")
	}
	return side.Vocabulary.Encode(symbols), symbols, nil
}

// readable says why a raw line is not worked on at all.
func (t *Translator) readable(line string) error {
	if limit := t.Settings.Lines.Limit(); len(line) > limit {
		return fmt.Errorf("it has more than %d bytes (data.max_line): split it", limit)
	}
	if !utf8.ValidString(line) {
		return errNoUTF8
	}
	return nil
}

// Force gives the log-probability of each translation that is given, raw, after its raw source. The zero Options are
// the run's own settings. A line that cannot be read ends it with a [*LineError], whose Given tells translations from
// sources.
func (t *Translator) Force(ctx context.Context, sources, targets []string, o decode.Options) (scores []decode.Scored,
	err error) {
	if o == (decode.Options{}) {
		o = t.Settings.Decode
	}
	err = t.Queue(ctx, func() error {
		source, target := make([][]int32, len(sources)), make([][]int32, len(targets))
		for i, line := range sources {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if source[i], _, err = t.encode(t.Text.Source, line); err != nil {
				return &LineError{Line: i + 1, Err: err}
			}
		}
		for i, line := range targets {
			if target[i], _, err = t.encode(t.Text.Target, line); err != nil {
				return &LineError{Line: i + 1, Given: true, Err: err}
			}
		}
		nll := func(hidden, targets torch.Tensor) torch.Tensor {
			return t.Output.NLL(torch.States{Hidden: hidden}, targets)
		}
		scores, err = decode.Score(ctx, t.Network, nll, source, target, t.Settings.Model.MaxPositions, o)
		return err
	})
	return scores, err
}
