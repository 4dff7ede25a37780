package main

import (
	"context"
	"math"
	"unicode/utf8"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/runs/serve/internal/markup"
	"github.com/aperture-ml/aperture/runs/serve/internal/request"
)

// task is what a request asks of a translator.
type task struct {
	model             *model
	texts             []string
	markup            *markup.Options // how texts with tags are read; nil for plain text
	count             int             // of translations of each text
	scores            bool
	confidence, links bool
	prefix            string
	terms             []translation.Term
	keep              *request.Patterns
	split             translation.Splitting
}

// options reads the fields that only this server has.
func (t *task) options(f request.Fields) (err error) {
	read := func(x bool, failed error) bool {
		if err == nil {
			err = failed
		}
		return x
	}
	t.scores, t.confidence, t.links = read(f.Flag("scores")), read(f.Flag("confidence")), read(f.Flag("links"))
	if err == nil {
		t.prefix, err = f.Text("prefix")
	}
	if err == nil {
		var terms []request.Term
		terms, err = f.Terms("terms")
		for _, x := range terms {
			t.terms = append(t.terms, translation.Term(x))
		}
	}
	if err == nil {
		t.keep, err = f.Patterns("keep")
	}
	if err != nil {
		return err
	}
	how, err := f.Text("split")
	switch how {
	case "", "long":
		t.split = translation.SplitLong
	case "always":
		t.split = translation.SplitAlways
	case "never":
		t.split = translation.SplitNever
	default:
		err = request.Invalid(`split must be "long", "always" or "never"`)
	}
	return err
}

// translate does a task: the translations of each text, best first, with tags where the text has them.
func (a *app) translate(ctx context.Context, t task) (all [][]translation.Translation, err error) {
	chars := 0
	for _, text := range t.texts {
		chars += utf8.RuneCountInString(text)
	}
	if chars += utf8.RuneCountInString(t.prefix); chars > a.flags.MaxChars {
		return nil, request.TooLarge("the texts have %d characters, and %d are the limit: send less at a time", chars,
			a.flags.MaxChars)
	}
	if err := a.checkCount(t.texts); err != nil {
		return nil, err
	}
	if t.markup != nil && (t.confidence || t.links) {
		return nil, request.Invalid("confidence and links are given for plain text alone: leave them out, or the tags")
	}
	defer func() {
		if err == nil {
			a.metrics.chars.Add(int64(chars))
		}
	}()
	server := t.model.translator
	o := server.Settings().Decode
	o.NBest, o.Beam = t.count, max(o.Beam, t.count)
	o.Words, o.Links = t.confidence, t.links || t.markup != nil
	var terms *translation.Glossary
	if len(t.terms) > 0 {
		if terms, err = server.Glossary(ctx, t.terms); err != nil {
			return nil, err
		}
	}
	if t.markup != nil {
		return translateHTML(t, func(requests []translation.Request) ([][]translation.Translation, error) {
			return t.do(ctx, requests, terms, o)
		})
	}
	requests := make([]translation.Request, len(t.texts))
	for i, text := range t.texts {
		requests[i] = translation.Request{Line: text, Prefix: t.prefix}
	}
	return t.do(ctx, requests, terms, o)
}

// checkCount is an error where a request has more texts than the limit.
func (a *app) checkCount(texts []string) error {
	if len(texts) > a.flags.MaxTexts {
		return request.TooLarge("there are %d texts, and %d are the limit: send less at a time", len(texts), a.flags.MaxTexts)
	}
	return nil
}

// do translates requests; one that cannot be translated fails all. What is to be kept is found here, in bounded time,
// and before the model is held.
func (t task) do(ctx context.Context, requests []translation.Request, terms *translation.Glossary,
	o decode.Options) ([][]translation.Translation, error) {
	for i := range requests {
		r := &requests[i]
		places, err := t.keep.In(ctx, r.Line)
		if err != nil {
			return nil, err
		}
		r.Terms, r.KeepAt = terms, append(r.KeepAt, places...)
	}
	all, err := t.model.translator.Translate(ctx, requests, o, t.split)
	if err != nil {
		return nil, err
	}
	for _, list := range all {
		if list[0].Err != nil {
			return nil, list[0].Err
		}
	}
	return all, nil
}

// detail is a translation with what LibreTranslate's interface has no field for.
type detail struct {
	Text       string   `json:"text"`
	Score      float64  `json:"score"`
	Confidence *float64 `json:"confidence,omitempty"` // missing where it is not asked for
	Words      []word   `json:"words,omitempty"`
}

type word struct {
	Text       string   `json:"text"`
	Confidence *float64 `json:"confidence,omitempty"`
	Source     []int    `json:"source,omitempty"`
}

// detailed reports whether details were asked for.
func (t task) detailed() bool { return t.scores || t.confidence || t.links }

func (t task) detail(x translation.Translation) detail {
	d := detail{Text: x.Text, Score: x.Score}
	known := func(p float64) *float64 {
		if !t.confidence || math.IsNaN(p) {
			return nil
		}
		return &p
	}
	if x.Details == nil {
		return d
	}
	d.Confidence = known(x.Details.Confidence)
	for _, w := range x.Details.Words {
		one := word{Text: w.Text, Confidence: known(w.Confidence)}
		if t.links {
			one.Source = w.Source
		}
		d.Words = append(d.Words, one)
	}
	return d
}
