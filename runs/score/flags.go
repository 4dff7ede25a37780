package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/score"
)

// request is what the command line asks for.
type request struct {
	References []string `flag:"ref" needed:"name a file of references" help:"<FILE> of references, one a line; repeat it for several references"`
	Metrics    []string `flag:"metric" list:"," default:"bleu" choice:"bleu chrf chrf++" needed:"use any of bleu, chrf, chrf++" help:"<METRICS>, any of bleu,chrf,chrf++"`
	Tokenizer  string   `flag:"tok" default:"13a" choice:"13a intl none char" help:"BLEU's <TOKENIZER>: 13a, intl, none, char"`
	Smoothing  string   `flag:"smooth" default:"exp" choice:"exp floor add-k none" help:"BLEU's <SMOOTHING>: exp, floor, add-k, none"`
	Lowercase  bool     `flag:"lc" help:"lower-case both sides first"`
	MultiBLEU  bool     `flag:"multi-bleu" help:"BLEU as multi-bleu.perl prints it, for tokenised text"`
	Compounds  bool     `flag:"compound-split" help:"-multi-bleu of compounds split at hyphens, as most published figures of WMT14 English to German have it"`
	Moses      string   `flag:"moses" help:"-multi-bleu of raw text: tokenise both sides first as the Moses tokenizer does for <LANGUAGE>"`
	Interval   bool     `flag:"ci" help:"add 95% confidence intervals from 1000 resamples"`
	Baseline   string   `flag:"compare" not:"multi-bleu ci" help:"test by paired bootstrap and approximate randomisation whether the scores differ from those of another system's hypotheses, in <FILE>"`
	Training   string   `flag:"f1-train" not:"metric tok smooth ci lc multi-bleu" help:"print the F1 of words by how often the training text <FILE> has them; all texts tokenised"`
	JSON       bool     `flag:"json" help:"print JSON"`

	metrics []score.Metric  // in sacreBLEU's order
	moses   *tokenize.Moses // tokenises all texts; nil leaves them as they are
}

var about = command.Help{
	Name: "score", Usage: "-ref FILE [flags] < hypotheses",
	Summary: "score compares translations with references: BLEU as sacreBLEU and multi-bleu.perl compute it, " +
		"chrF and chrF++.",
	About:  "All files, and the input, may be packed with gzip or Zstandard.",
	NoArgs: "hypotheses come on standard input and references by -ref",
}

// parse reads the command line. After -h, which prints to out, it gives command.ErrHelp.
func parse(args []string, out io.Writer) (r request, err error) {
	given, err := about.Read(&r, args, out)
	if err != nil {
		return r, err
	}
	if r.Moses != "" {
		if r.moses, err = tokenize.NewMoses(tokenize.MosesOptions{Language: r.Moses}); err != nil {
			return r, err
		}
	}
	if r.Compounds || r.Moses != "" {
		if r.MultiBLEU = true; given.Changed("metric") || r.Baseline != "" || r.Training != "" {
			return r, errors.New("-compound-split and -moses prepare text for -multi-bleu alone: ask for other " +
				"scores without them")
		}
	}
	if r.MultiBLEU {
		for _, name := range []string{"tok", "smooth", "ci"} {
			if given.Changed(name) {
				return r, fmt.Errorf("-%s does not go with -multi-bleu, which takes text as it is and neither "+
					"smooths nor resamples", name)
			}
		}
	}
	if r.Baseline != "" && r.Training != "" {
		return r, errors.New("-compare and -f1-train answer different questions: ask one at a time")
	}
	for _, name := range []string{"tok", "smooth"} {
		if given.Changed(name) && !r.wantsBLEU() {
			return r, fmt.Errorf("-%s is BLEU's, and -metric=%s asks for none: add bleu to -metric, or leave -%[1]s out",
				name, strings.Join(r.Metrics, ","))
		}
	}
	samples := 0
	if r.Interval {
		samples = score.DefaultSamples
	}
	if r.wantsBLEU() {
		r.metrics = append(r.metrics, score.BLEUOptions{
			Tokenizer: score.Tokenizer(r.Tokenizer), Smooth: score.Smoothing(r.Smoothing), Lowercase: r.Lowercase,
			Bootstrap: samples,
		})
	}
	for _, n := range []int{0, 2} {
		if slices.Contains(r.Metrics, "chrf"+strings.Repeat("+", n)) {
			r.metrics = append(r.metrics, score.CHRFOptions{WordOrder: n, Lowercase: r.Lowercase, Bootstrap: samples})
		}
	}
	return r, nil
}

// wantsBLEU says whether sacreBLEU's BLEU is asked for.
func (r request) wantsBLEU() bool { return !r.MultiBLEU && slices.Contains(r.Metrics, "bleu") }
