package translation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// Translation is one translation of a line.
type Translation struct {
	Text      string  // running text
	Tokenised string  // the same as words joined by single spaces
	Score     float64 // natural log-probability under the length penalty
	Err       error   // a *LineError where the line cannot be translated; the rest is empty then
}

var errNoUTF8 = errors.New("it is no valid UTF-8: convert the text, for example with iconv")

// LineError says why a line cannot be translated.
type LineError struct {
	Line int // counted from 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap is the reason.
func (e *LineError) Unwrap() error { return e.Err }

// Translate returns the best translation of each raw line, in order. The zero Options are the run's own settings;
// others count as they are, so start from Settings.Decode to change one. An empty line gives an empty translation. A
// line that is no valid UTF-8, longer than data.max_line or the model's positions, or holds the padding's name as a
// symbol has an error of its own and leaves the others whole; Translate itself fails where the options make no sense,
// where ctx is cancelled, with its cause, and where there is not enough memory.
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
func (t *Translator) TranslateNBest(ctx context.Context, lines []string, o decode.Options) (all [][]Translation, err error) {
	if o == (decode.Options{}) {
		o = t.Settings.Decode
	}
	err = t.Queue(ctx, func() error {
		all, err = t.search(ctx, lines, o)
		return err
	})
	return all, err
}

func (t *Translator) search(ctx context.Context, lines []string, o decode.Options) ([][]Translation, error) {
	units := make([][]string, len(lines))
	var sources [][]int32
	var places []int // of the lines that are searched for
	out := make([][]Translation, len(lines))
	for i, line := range lines {
		out[i] = []Translation{{}}
		source, symbols, err := t.encode(line)
		switch {
		case err != nil:
			out[i][0].Err = &LineError{i + 1, err}
			continue
		case len(source) == 0:
			continue
		}
		units[i] = symbols
		places = append(places, i)
		sources = append(sources, source)
	}
	searcher, err := t.searcher(o)
	if err != nil {
		return nil, err
	}
	if !t.opened {
		defer t.forget()
	}
	found, err := searcher.Search(ctx, sources)
	if err != nil {
		return nil, err
	}
	for k, hypotheses := range found {
		i := places[k]
		out[i] = out[i][:0]
		for _, h := range hypotheses {
			tokenised := t.words(units[i], h, o)
			out[i] = append(out[i], Translation{Text: t.Text.Target.Raw(tokenised), Tokenised: tokenised, Score: h.Score})
		}
	}
	return out, nil
}

// encode gives a raw line as ids and as symbols, or says why it cannot be translated. A line that is too long is
// refused as soon as that is sure: by its bytes, then by its words, each of which is a symbol or more.
func (t *Translator) encode(line string) (ids []int32, symbols []string, err error) {
	side, positions := t.Text.Source, t.Settings.Model.MaxPositions
	tooLong := func(n int, what string) error {
		return fmt.Errorf("it has %d %s with its end, and the model has %d positions: split it, or train with a larger model.max_positions", n, what, positions)
	}
	if err := t.readable(line); err != nil {
		return nil, nil, err
	}
	tokenised := side.Tokenize(line)
	if n := strings.Count(tokenised, " ") + 2; n > positions {
		return nil, nil, tooLong(n, "symbols or more")
	}
	symbols = side.Units(tokenised)
	if n := len(symbols) + 1; n > positions {
		return nil, nil, tooLong(n, "symbols")
	}
	ids = side.Vocabulary.Encode(symbols)
	if slices.Contains(ids, tokenize.Pad) {
		return nil, nil, fmt.Errorf("it holds %s, which stands for no word: remove it", side.Vocabulary.Token(tokenize.Pad))
	}
	return ids, symbols, nil
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

// searcher lays out the weights for search, or takes those of an earlier call in a translator whose weights stay.
func (t *Translator) searcher(o decode.Options) (s *decode.Searcher, err error) {
	if t.prepared != nil && t.preparedInt8 != o.Int8 {
		t.forget()
	}
	if t.prepared != nil {
		return t.prepared.With(o)
	}
	if s, err = decode.New(t.Network, t.scorer(), o); err == nil {
		t.prepared, t.preparedInt8 = s, o.Int8
	}
	return s, err
}

// forget frees what was laid out.
func (t *Translator) forget() {
	if t.prepared != nil {
		t.prepared.Free()
		t.prepared = nil
	}
}

func (t *Translator) scorer() decode.Scorer {
	if head, bias, ok := t.Output.SoftmaxHead(); ok {
		return decode.Softmax{Weight: head.Weight, Bias: bias, Map: head.Map}
	}
	if t.Text.Vectors != nil {
		return nearest{t.Output}
	}
	return t.Output
}

// nearest is an output layer that finds words by their vectors.
type nearest struct{ *objectives.Output }

func (n nearest) Nearest(hidden torch.Tensor, k int) (scores, ids torch.Tensor) {
	scores, ids, _ = n.Output.Nearest(hidden, k)
	return scores, ids
}

// Force gives the log-probability of each translation that is given, raw, after its raw source. The zero Options are
// the run's own settings.
func (t *Translator) Force(ctx context.Context, sources, targets []string, o decode.Options) (scores []decode.Scored, err error) {
	if o == (decode.Options{}) {
		o = t.Settings.Decode
	}
	err = t.Queue(ctx, func() error {
		source, target := make([][]int32, len(sources)), make([][]int32, len(targets))
		for i, line := range sources {
			if err := t.readable(line); err != nil {
				return &LineError{i + 1, err}
			}
			source[i] = t.Text.Source.Encode(line)
		}
		for i, line := range targets {
			if err := t.readable(line); err != nil {
				return fmt.Errorf("translation %d cannot be scored: %w", i+1, err)
			}
			target[i] = t.Text.Target.Encode(line)
		}
		nll := func(hidden, targets torch.Tensor) torch.Tensor {
			return t.Output.NLL(torch.States{Hidden: hidden}, targets)
		}
		scores, err = decode.Score(t.Network, nll, source, target, t.Settings.Model.MaxPositions, o)
		return err
	})
	return scores, err
}
