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
	references []string // files
	metrics    []score.Metric
	multiBLEU  bool            // ahead of metrics
	compounds  bool            // split compounds first
	moses      *tokenize.Moses // tokenises all texts before that; nil: they are as they are to be
	lowercase  bool
	json       bool
	baseline   string // file of hypotheses to compare with; empty: none
	// trainingText is the file whose words sort those of the references by frequency; empty: scores are asked for.
	trainingText string
	// detokenised says that a metric expects detokenised text.
	detokenised bool
}

// metricNames lists what -metric takes. Results come in this order, which is
// sacreBLEU's.
var metricNames = []string{"bleu", "chrf", "chrf++"}

// parse reads the command line. After -h, which prints to out, it gives command.ErrHelp.
func parse(args []string, out io.Writer) (request, error) {
	var r request
	fs := command.Flags("score")
	fs.StringArrayVar(&r.references, "ref", nil, "`FILE` of references, one a line; repeat it for several references")
	names := fs.StringSlice("metric", []string{"bleu"}, "`METRICS`, any of "+strings.Join(metricNames, ","))
	tokenizer := fs.String("tok", string(score.Tok13a), "BLEU's `TOKENIZER`: "+join(score.Tokenizers))
	smooth := fs.String("smooth", string(score.SmoothExp), "BLEU's `SMOOTHING`: "+join(score.Smoothings))
	fs.BoolVar(&r.lowercase, "lc", false, "lower-case both sides first")
	fs.BoolVar(&r.multiBLEU, "multi-bleu", false, "BLEU as multi-bleu.perl prints it, for tokenised text")
	fs.BoolVar(&r.compounds, "compound-split", false, "-multi-bleu of compounds split at hyphens, as most published figures of WMT14 English to German have it")
	language := fs.String("moses", "", "-multi-bleu of raw text: tokenise both sides first as the Moses tokenizer does for `LANGUAGE`")
	interval := fs.Bool("ci", false, fmt.Sprintf("add 95%% confidence intervals from %d resamples", score.DefaultSamples))
	fs.StringVar(&r.baseline, "compare", "", "test by paired bootstrap and approximate randomisation whether the scores differ from those of another system's hypotheses, in `FILE`")
	fs.StringVar(&r.trainingText, "f1-train", "", "print the F1 of words by how often the training text `FILE` has them; all texts tokenised")
	fs.BoolVar(&r.json, "json", false, "print JSON")
	about := command.Help{
		Name: "score", Usage: "-ref FILE [flags] < hypotheses", About: "All files, and the input, may be packed with gzip or Zstandard.",
		Summary: "score compares translations with references: BLEU as sacreBLEU and multi-bleu.perl compute it, chrF and chrF++.",
	}
	err := about.Parse(fs, args, out)
	if err != nil {
		return r, err
	}
	if fs.NArg() > 0 {
		return r, fmt.Errorf("unexpected argument %q: hypotheses come on standard input and references by -ref", fs.Arg(0))
	}
	if len(r.references) == 0 {
		return r, errors.New("name a file of references with -ref")
	}
	if len(*names) == 0 {
		return r, fmt.Errorf("-metric names no metric: use any of %s", strings.Join(metricNames, ", "))
	}
	for _, name := range *names {
		if !slices.Contains(metricNames, name) {
			return r, fmt.Errorf("unknown metric %q: use any of %s", name, strings.Join(metricNames, ", "))
		}
	}
	if !slices.Contains(score.Tokenizers, score.Tokenizer(*tokenizer)) {
		return r, fmt.Errorf("unknown tokenizer %q for -tok: use one of %s", *tokenizer, join(score.Tokenizers))
	}
	if !slices.Contains(score.Smoothings, score.Smoothing(*smooth)) {
		return r, fmt.Errorf("unknown smoothing %q for -smooth: use one of %s", *smooth, join(score.Smoothings))
	}
	if *language != "" {
		if r.moses, err = tokenize.NewMoses(tokenize.MosesOptions{Language: *language}); err != nil {
			return r, err
		}
	}
	if given := r.compounds || *language != ""; given {
		if r.multiBLEU = true; fs.Changed("metric") || r.baseline != "" || r.trainingText != "" {
			return r, errors.New("-compound-split and -moses prepare text for -multi-bleu alone: ask for other scores without them")
		}
	}
	if r.multiBLEU {
		for _, name := range []string{"tok", "smooth", "ci"} {
			if fs.Changed(name) {
				return r, fmt.Errorf("-%s does not go with -multi-bleu, which takes text as it is and neither smooths nor resamples", name)
			}
		}
	}
	if r.baseline != "" && r.trainingText != "" {
		return r, errors.New("-compare and -f1-train answer different questions: ask one at a time")
	}
	samples := 0
	if *interval {
		samples = score.DefaultSamples
	}
	metrics := map[string]score.Metric{
		"bleu": score.BLEUOptions{
			Tokenizer: score.Tokenizer(*tokenizer), Smooth: score.Smoothing(*smooth), Lowercase: r.lowercase, Bootstrap: samples,
		},
		"chrf":   score.CHRFOptions{Lowercase: r.lowercase, Bootstrap: samples},
		"chrf++": score.CHRFOptions{WordOrder: 2, Lowercase: r.lowercase, Bootstrap: samples},
	}
	for _, name := range metricNames {
		if slices.Contains(*names, name) && !(r.multiBLEU && name == "bleu") {
			r.metrics = append(r.metrics, metrics[name])
		}
	}
	r.detokenised = !r.multiBLEU && slices.Contains(*names, "bleu") && *tokenizer != string(score.TokNone)
	return r, nil
}

func join[S ~string](names []S) string {
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = string(name)
	}
	return strings.Join(parts, ", ")
}
