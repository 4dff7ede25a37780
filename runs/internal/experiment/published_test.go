package experiment

import (
	"slices"
	"strings"
	"testing"
)

// published are the rows of the papers' tables of perplexity and BLEU: the preset that trains them, with -method, and what was
// published ("" where a paper has the method on another text or network).
var published = []struct{ run, preset, method, figures string }{
	{"ptb", "awd-lstm", "mle", "61.2 / 58.8"},
	{"ptb", "awd-lstm-finetune", "mle", "58.8 / 56.5"},
	{"ptb", "awd-lstm", "cosreg", ""},
	{"ptb", "awd-lstm", "spectrum", ""},
	{"ptb", "awd-noise", "adversarial", "57.15 / 55.01"},
	{"ptb", "qrnn", "mle", "60.6 / 58.3"},
	{"ptb", "qrnn", "adversarial", ""},
	{"ptb", "qrnn", "spectrum", ""},
	{"ptb", "mos-finetune", "mos", "56.54 / 54.44"},
	{"ptb", "mos", "mos+spectrum", ""},
	{"ptb", "mos-noise", "mos+adversarial", "54.98 / 52.87"},
	{"ptb", "mos-shuffle", "mos", "55.89 / 53.92"},
	{"ptb", "mos-shuffle-noise", "mos+adversarial", "54.10 / 52.20"},

	{"wikitext2", "awd-lstm", "mle", "68.7 / 65.6"},
	{"wikitext2", "awd-lstm-finetune", "mle", "67.4 / 64.7"},
	{"wikitext2", "awd-lstm", "cosreg", "68.2 / 65.2"},
	{"wikitext2", "awd-lstm-finetune", "cosreg", "67.1 / 64.1"},
	{"wikitext2", "awd-lstm", "spectrum", "66.3 / 63.7"},
	{"wikitext2", "awd-lstm-finetune", "spectrum", "65.3 / 62.9"},
	{"wikitext2", "awd-lstm", "spectrum-poly", "test 64.2"},
	{"wikitext2", "awd-lstm", "sn", "76.3 / 72.5"},
	{"wikitext2", "awd-lstm", "sn-doptimal", "98.3 / 94.8"},
	{"wikitext2", "awd-noise", "adversarial", "64.01 / 61.56"},
	{"wikitext2", "qrnn", "mle", "69.3 / 66.8"},
	{"wikitext2", "qrnn", "adversarial", ""},
	{"wikitext2", "qrnn", "spectrum", ""},
	{"wikitext2", "mos-finetune", "mos", "63.88 / 61.45"},
	{"wikitext2", "mos", "mos+spectrum", ""},
	{"wikitext2", "mos-noise", "mos+adversarial", "61.93 / 59.62"},
	{"wikitext2", "mos-shuffle", "mos", "62.38 / 59.98"},
	{"wikitext2", "mos-shuffle-noise", "mos+adversarial", "61.10 / 58.95"},

	{"wikitext103", "qrnn", "adaptive", "32.0 / 33.0"},
	{"wikitext103", "qrnn-noise", "adaptive+adversarial", "30.6 / 31.6"},
	{"wikitext103", "qrnn", "adaptive+spectrum-poly", ""},
	{"wikitext103", "xl-4", "adaptive", "29.6 / 30.4"},
	{"wikitext103", "xl-4", "adaptive+spectrum-poly", "29.0 / 29.5"},
	{"wikitext103", "xl-16", "adaptive", "23.1 / 24.0"},
	{"wikitext103", "xl-16", "adaptive+spectrum-poly", "22.9 / 23.2"},
	{"wikitext103", "xl-16", "adaptive+spectrum", "test 23.4"},

	{"wmt14", "papers", "mle", "BLEU 27.3"},
	{"wmt14", "papers", "cosreg", "BLEU 28.38"},
	{"wmt14", "papers-noise", "adversarial", "BLEU 28.43"},
	{"wmt14", "base", "spectrum", "BLEU 28.37"},
	{"wmt14", "base", "spectrum-poly", "BLEU 28.45"},
	{"wmt14", "papers-big", "mle", "BLEU 28.4"},
	{"wmt14", "papers-big", "cosreg", "BLEU 28.94"},
	{"wmt14", "papers-big-noise", "adversarial", "BLEU 29.52"},
	{"wmt14", "big", "spectrum-poly", "BLEU 29.32"},
	{"wmt14", "papers-de-en", "mle", "BLEU 31.00"},
	{"wmt14", "papers-de-en", "cosreg", "BLEU 31.93"},
	{"iwslt14", "small", "mle", "BLEU 32.47"},
	{"iwslt14", "small-noise", "adversarial", "BLEU 33.61"},
	{"iwslt14", "base", "mle", "BLEU 34.43"},
	{"iwslt14", "base-noise", "adversarial", "BLEU 35.18"},
	{"iwslt14", "small-ff", "mle", "BLEU 34.01"},
	{"iwslt14", "small-ff", "spectrum", "BLEU 35.50"},
	{"iwslt14", "small-ff", "spectrum-poly", "BLEU 35.40"},
}

// Each published row stands in the preset that trains it, under its method, and says so where there is no figure.
func TestPublishedRows(t *testing.T) {
	specs := shipped(t)
	for _, row := range published {
		p, err := specs[row.run].preset(row.preset)
		if err != nil {
			t.Errorf("%+v: %v", row, err)
			continue
		}
		i := slices.IndexFunc(p.Published, func(told string) bool { return strings.HasPrefix(told, row.method+": ") })
		switch {
		case i < 0:
			t.Errorf("runs/%s/%s.toml has no row of %s", row.run, row.preset, row.method)
		case row.figures == "" && !strings.HasPrefix(p.Published[i], row.method+": not published"):
			t.Errorf("runs/%s/%s.toml does not say that %s is not published: %q", row.run, row.preset, row.method, p.Published[i])
		case !hasFigures(p.Published[i], row.method, row.figures):
			t.Errorf("runs/%s/%s.toml does not tell %s of %s: %q", row.run, row.preset, row.figures, row.method, p.Published[i])
		}
	}
}

// hasFigures reports whether a row begins with figures, and not with longer ones that begin as they do.
func hasFigures(told, method, figures string) bool {
	rest, found := strings.CutPrefix(told, method+": "+figures)
	return found && (figures == "" || rest == "" || !strings.ContainsAny(rest[:1], ".0123456789"))
}
