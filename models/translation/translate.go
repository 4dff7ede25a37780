package translation

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	// Details are what decode.Options.Words and Links ask for, nil where neither does.
	Details *Details
}

// Details are the words of a translation.
type Details struct {
	// Confidence is the probability of a symbol, the geometric mean over the line and its end. It is NaN, and so is that
	// of words, where the output layer finds words by their vectors.
	Confidence float64
	Words      []Word
}

// Word is a word of a translation, as spaces separate them.
type Word struct {
	Text       string
	Confidence float64 // the probability of its symbols, punctuation that touches it included: their product
	Source     []int   // the words of the raw line that it stands for, counted from 0
}

var errNoProbability = errors.New(
	"the run's output layer finds words by their vectors and gives them no probability: ask for no confidence")

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
	err = t.Queue(ctx, func() error {
		all, err = t.search(ctx, requests, o)
		return err
	})
	return all, err
}

func (t *Translator) search(ctx context.Context, requests []Request, o decode.Options) ([][]Translation, error) {
	if o.Words && t.Text.Vectors != nil {
		return nil, errNoProbability
	}
	units := make([][]string, len(requests))
	var sources [][]int32
	var demands []demand
	var places []int // of the lines that are searched for
	out := make([][]Translation, len(requests))
	searcher, err := t.searcher(o)
	if err != nil {
		return nil, err
	}
	if !t.opened {
		defer t.forget()
	}
	for i, r := range requests {
		out[i] = []Translation{{}}
		source, symbols, d, err := t.read(r, searcher)
		switch {
		case err != nil:
			out[i][0].Err = &LineError{i + 1, err}
			continue
		case len(source) == 0:
			if d.prefix != nil {
				out[i][0].Text, out[i][0].Tokenised = d.prefix.text, d.prefix.text
			}
			continue
		}
		units[i] = symbols
		places = append(places, i)
		sources, demands = append(sources, source), append(demands, d)
	}
	found, err := searcher.SearchConstrained(ctx, sources, t.constraints(demands))
	if err != nil {
		return nil, err
	}
	var from, to [][]int32 // of the translations whose words are linked
	var links []func(decode.Attended)
	for k, hypotheses := range found {
		i := places[k]
		out[i] = out[i][:0]
		for _, h := range hypotheses {
			text, tokens := t.compose(units[i], h, demands[k], o)
			x := Translation{Text: text, Tokenised: joinTokens(tokens), Score: h.Score}
			if o.Words || o.Links {
				x.Details = t.details(text, tokens, h)
			}
			if o.Links {
				from, to = append(from, sources[k]), append(to, h.IDs)
				links = append(links, func(seen decode.Attended) {
					t.link(requests[i].Line, units[i], seen, tokens, x.Details.Words)
				})
			}
			out[i] = append(out[i], x)
		}
	}
	seen, err := searcher.Attend(ctx, from, to)
	for i, link := range links {
		if err == nil {
			link(seen[i])
		}
	}
	return out, err
}

// read gives a request as ids and symbols of its line and as demands, or says why it cannot be translated.
func (t *Translator) read(r Request, s *decode.Searcher) (ids []int32, symbols []string, d demand, err error) {
	ids, symbols, err = t.encode(r.Line)
	if err != nil || r.Prefix == "" && r.Terms == nil && len(r.Keep) == 0 {
		return ids, symbols, d, err
	}
	if d, err = t.demands(r, t.Text.Source.Join(slices.Clone(symbols))); err != nil || len(ids) == 0 {
		return ids, symbols, d, err
	}
	if n, most := d.constraint().Words(), s.Longest(len(ids)); n > most {
		err = fmt.Errorf("what its translation must hold has %d symbols, and a translation of it has %d at most: "+
			"leave terms out, or raise decode.max_length_b",
			n, most)
	}
	return ids, symbols, d, err
}

// encode gives a raw line as ids and as symbols, or says why it cannot be translated. A line that is too long is
// refused as soon as that is sure: by its bytes, then by its words, each of which is a symbol or more.
func (t *Translator) encode(line string) (ids []int32, symbols []string, err error) {
	side, positions := t.Text.Source, t.Settings.Model.MaxPositions
	tooLong := func(n int, what string) error {
		return fmt.Errorf("it has %d %s with its end, and the model has %d positions: split it, or train with a "+
			"larger model.max_positions", n, what, positions)
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
	ids = side.Vocabulary.Encode(symbols)
	if slices.Contains(ids, tokenize.Pad) {
		return nil, nil, fmt.Errorf("it holds %s, which stands for no word: remove it",
			side.Vocabulary.Token(tokenize.Pad))
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
func (t *Translator) Force(ctx context.Context, sources, targets []string, o decode.Options) (scores []decode.Scored,
	err error) {
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
