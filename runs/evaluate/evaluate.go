package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"

	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// result is what -json prints.
type result struct {
	Run      string            `json:"run"`
	With     string            `json:"with"`
	Settings map[string]any    `json:"settings,omitempty"` // of the cache or of dynamic evaluation
	Valid    scores            `json:"valid"`
	Test     map[string]scores `json:"test"`

	tests []string // in their order
}

// scores are those of one text.
type scores struct {
	NLL    experiment.Number  `json:"nll"` // nats a token
	PPL    experiment.Number  `json:"ppl"`
	Tokens int                `json:"tokens"`
	Static *experiment.Number `json:"static_ppl,omitempty"` // of the model as it is, in one column too
	Legacy *experiment.Number `json:"legacy_ppl,omitempty"` // with the denominator of AWD-LSTM's program
}

func scored(nll float64, tokens int) scores {
	return scores{NLL: experiment.Num(nll), PPL: experiment.Num(math.Exp(nll)), Tokens: tokens}
}

func ppl(nll float64) *experiment.Number {
	n := experiment.Num(math.Exp(nll))
	return &n
}

// evaluation is an opened run.
type evaluation struct {
	*flags
	model    *language.Model
	texts    *language.Texts
	progress io.Writer
}

func open(f *flags, progress io.Writer) (*evaluation, error) {
	device, err := torch.FindDevice(f.device)
	if err != nil {
		return nil, &command.UsageError{Err: err}
	}
	torch.SetThreads(f.threads)
	model, err := language.Load(f.folder, device)
	if err != nil {
		return nil, err
	}
	for _, w := range model.Warnings {
		fmt.Fprintln(progress, w)
	}
	if f.given.Changed("memory") {
		if err := model.SetContext(f.context, f.rows); err != nil {
			model.Free()
			return nil, &command.UsageError{Err: err}
		}
	}
	c, err := experiment.ReadConfig(f.folder)
	if err != nil {
		model.Free()
		return nil, err
	}
	d := c.Data
	if f.data != "" {
		d.Dir, d.Sample = f.data, false
	}
	if f.test != nil {
		d.Test = f.test
	}
	texts, err := experiment.ReadText(d, f.folder)
	if err != nil {
		model.Free()
		return nil, err
	}
	return &evaluation{f, model, texts, progress}, nil
}

// each scores the validation text and the test texts.
func (e *evaluation) each(settings map[string]any, score func(t language.Text, validation bool) (scores, error)) (*result, error) {
	run, err := filepath.Abs(e.folder)
	if err != nil {
		return nil, err
	}
	out := &result{Run: run, With: e.with, Settings: settings, Test: map[string]scores{}}
	if out.Valid, err = score(e.texts.Valid, true); err != nil {
		return nil, fmt.Errorf("%s: %w", e.texts.Valid.Name, err)
	}
	for _, t := range e.texts.Tests {
		if out.Test[t.Name], err = score(t, false); err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
		out.tests = append(out.tests, t.Name)
	}
	return out, nil
}

// static scores texts in the columns that training used, so that the numbers are
// those of results.json.
func (e *evaluation) static() (*result, error) {
	c := e.model.Settings.Train
	return e.each(nil, func(t language.Text, validation bool) (scores, error) {
		count, key := c.TestColumns, "train.test_columns"
		if validation {
			count, key = c.ValidColumns, "train.valid_columns"
		}
		text, err := corpus.NewColumns(t.IDs, count, "the text", key)
		if err != nil {
			return scores{}, err
		}
		sum, tokens := e.model.NLL(text)
		s := scored(sum/float64(tokens), tokens)
		s.Legacy = ppl(text.Legacy(sum / float64(tokens)))
		return s, nil
	})
}

// beginning is the part of the validation text that a search reads.
func (e *evaluation) beginning() []int32 {
	ids := e.texts.Valid.IDs
	if e.search > 0 && e.search < len(ids) {
		ids = ids[:e.search]
	}
	return ids
}

func (e *evaluation) cache() (*result, error) {
	chosen := e.pointer
	if chosen.Theta < 0 || chosen.Lambda < 0 {
		var err error
		if chosen, _, err = e.model.SearchCache(e.beginning(), e.pointer); err != nil {
			return nil, err
		}
		fmt.Fprintf(e.progress, "search: theta %g, lambda %g\n", chosen.Theta, chosen.Lambda)
	}
	settings := map[string]any{"theta": chosen.Theta, "lambda": chosen.Lambda, "window": chosen.Window}
	return e.each(settings, func(t language.Text, _ bool) (scores, error) {
		cached, err := e.model.ScoreWithCache(t.IDs, []float64{chosen.Theta}, chosen.Window)
		if err != nil {
			return scores{}, err
		}
		s := scored(cached.NLL(0, chosen.Lambda), len(cached.LogVocabulary))
		s.Static = ppl(cached.NLL(0, 0))
		return s, nil
	})
}

func (e *evaluation) dynamic() (*result, error) {
	fmt.Fprintln(e.progress, "collecting the statistics of gradients on the training text")
	moving, err := e.model.Dynamic(e.texts.Train.IDs, e.following.Chunk, e.statistics)
	if err != nil {
		return nil, err
	}
	defer moving.Free()
	chosen := e.following
	if !e.given.Changed("rate") {
		tried := func(d language.Dynamic, nll float64) {
			fmt.Fprintf(e.progress, "search: rate %.3g, decay %.3g: ppl %.3f\n", d.Rate, d.Decay, math.Exp(nll))
		}
		if chosen, err = moving.Search(e.beginning(), chosen, tried); err != nil {
			return nil, err
		}
	}
	settings := map[string]any{"rate": chosen.Rate, "decay": chosen.Decay, "epsilon": chosen.Epsilon, "chunk": chosen.Chunk}
	return e.each(settings, func(t language.Text, _ bool) (scores, error) {
		nll, err := moving.NLL(t.IDs, chosen)
		if err != nil {
			return scores{}, err
		}
		if math.IsInf(nll, 1) {
			return scores{}, fmt.Errorf("the weights diverge at the rate %.3g: give a lower -rate, or none to have it searched for", chosen.Rate)
		}
		text, err := corpus.NewColumns(t.IDs, 1, "the text", "-test")
		if err != nil {
			return scores{}, err
		}
		sum, tokens := e.model.NLL(text)
		s := scored(nll, tokens)
		s.Static = ppl(sum / float64(tokens))
		return s, nil
	})
}
