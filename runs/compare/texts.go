package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/aperture-ml/aperture/runs/compare/significance"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/tokenize/score"
)

// textTest is how a row differs from the control on one test text, over the seeds that both have.
type textTest struct {
	Text  string
	Seeds []int64

	// Of a translator's BLEU; Segments is 0 where it was not tested.
	Segments         int
	BLEU             significance.Paired // the seeds' outputs pooled; its P, and PAR of approximate randomisation
	PAR              float64
	Each             []seedTest // seed by seed, as sacreBLEU compares two outputs
	HolmBLEU, HolmAR float64

	Both     significance.Contrast // of BLEU over seeds and sentences together; NaN with one seed
	HolmBoth float64

	Loss     significance.T // differences of nats a token, block by block; N is 0 where they were not tested
	HolmLoss float64
}

// seedTest is the comparison of two outputs of one seed.
type seedTest struct {
	Seed int64
	Pair significance.Paired
	PAR  float64
}

// textTests compares each row but the first with the first; the result is by row, then by test text.
func textTests(rows []*row, log io.Writer) ([][]textTest, error) {
	all := make([][]textTest, len(rows))
	texts := tests(rows[0].runs)
	for k, r := range rows[1:] {
		for _, text := range texts {
			t := textTest{Text: text, PAR: math.NaN()}
			t.BLEU.P, t.BLEU.Low, t.BLEU.High, t.Both.P = math.NaN(), math.NaN(), math.NaN(), math.NaN()
			if err := t.translations(rows[0], r, log); err != nil {
				return nil, err
			}
			t.blocks(rows[0], r)
			all[k+1] = append(all[k+1], t)
		}
	}
	for i := range texts { // each text is a family of its own
		holm := func(p func(*textTest) float64, corrected func(*textTest) *float64) {
			ps := make([]float64, len(rows)-1)
			for k := range ps {
				ps[k] = p(&all[k+1][i])
			}
			for k, x := range significance.Holm(ps) {
				*corrected(&all[k+1][i]) = x
			}
		}
		holm(func(t *textTest) float64 { return t.BLEU.P }, func(t *textTest) *float64 { return &t.HolmBLEU })
		holm(func(t *textTest) float64 { return t.PAR }, func(t *textTest) *float64 { return &t.HolmAR })
		holm(func(t *textTest) float64 { return t.Loss.P }, func(t *textTest) *float64 { return &t.HolmLoss })
		holm(func(t *textTest) float64 { return t.Both.P }, func(t *textTest) *float64 { return &t.HolmBoth })
	}
	return all, nil
}

// translations tests BLEU, where both rows have the outputs of a seed.
func (t *textTest) translations(control, r *row, log io.Writer) error {
	var base, system []score.Counted
	for _, run := range r.runs {
		other := control.seed(run.results.Seed)
		if other == nil || !run.translates() || !other.translates() {
			continue
		}
		a, err := other.counted(t.Text, log)
		if err != nil {
			return err
		}
		b, err := run.counted(t.Text, log)
		if err != nil {
			return err
		}
		if a == nil || b == nil {
			continue
		}
		if len(a.Counts) != len(b.Counts) {
			fmt.Fprintf(log, "%s and %s translated %s of different length: they are not tested against each other\n",
				other.folder, run.folder, t.Text)
			continue
		}
		base, system = append(base, *a), append(system, *b)
		t.Seeds = append(t.Seeds, run.results.Seed)
		t.Each = append(t.Each, seedTest{run.results.Seed, significance.Bootstrap(*a, *b, 0, 0),
			significance.Randomisation(*a, *b, 0, 0)})
	}
	if len(base) == 0 {
		return nil
	}
	t.Segments = len(base[0].Counts)
	if len(base) == 1 {
		t.BLEU, t.PAR = t.Each[0].Pair, t.Each[0].PAR
		return nil
	}
	pooled, other := significance.Pool(base), significance.Pool(system)
	t.BLEU, t.PAR = significance.Bootstrap(pooled, other, 0, 0), significance.Randomisation(pooled, other, 0, 0)
	t.Both = significance.SeedsAndSentences(base, system, 0, 0, 0.05)
	return nil
}

// counted is what count gives. It counts, and says why not, once.
func (t *trained) counted(text string, log io.Writer) (*score.Counted, error) {
	if c, ok := t.counts[text]; ok {
		return c, nil
	}
	c, err := t.count(text, log)
	if err != nil {
		return nil, err
	}
	if t.counts == nil {
		t.counts = map[string]*score.Counted{}
	}
	t.counts[text] = c
	return c, nil
}

// count counts what a run's translation of a test text is made of, nil where it is not there or not that of
// results.json.
func (t *trained) count(text string, log io.Writer) (*score.Counted, error) {
	path := filepath.Join(t.folder, record.SamplesDir, filepath.Base(text)+"."+t.data.Target)
	hyps, err := os.ReadFile(path)
	if err != nil {
		fmt.Fprintf(log, "%s is not tested on %s: %v\n", t.folder, text, err)
		return nil, nil
	}
	lines, err := t.data.ReadLines(text)
	if err != nil {
		fmt.Fprintf(log, "%s is not tested on %s: its references are gone: %v\n", t.folder, text, err)
		return nil, nil
	}
	counted, err := score.Count(score.BLEUOptions{Lowercase: t.data.Lowercase},
		strings.Split(strings.TrimSuffix(string(hyps), "\n"), "\n"), [][]string{lines.Target})
	if err != nil {
		fmt.Fprintf(log, "%s is not tested on %s: %s: %v\n", t.folder, text, path, err)
		return nil, nil
	}
	if was, is := t.results.Test[text].BLEU.Value(), counted.Score(nil).Score; math.Abs(was-is) > 1e-6 {
		fmt.Fprintf(log, "%s is not tested on %s: its BLEU is %.2f now and was %.2f in results.json, so that the "+
			"outputs or the references have changed\n", t.folder, text, is, was)
		return nil, nil
	}
	return &counted, nil
}

// blocks tests the loss block by block, over the mean of the seeds that both rows have.
func (t *textTest) blocks(control, r *row) {
	var sum []float64
	seeds := 0
	for _, run := range r.runs {
		other := control.seed(run.results.Seed)
		if other == nil || run.model == nil || other.model == nil {
			continue
		}
		a, b := other.model.Blocks[t.Text], run.model.Blocks[t.Text]
		if len(a) == 0 || !alike(a, b) || sum != nil && len(sum) != len(a) {
			continue
		}
		if sum == nil {
			sum = make([]float64, len(a))
		}
		x, y := record.PerToken(a), record.PerToken(b)
		for i := range sum {
			sum[i] += y[i] - x[i]
		}
		seeds++
		if t.Segments == 0 {
			t.Seeds = append(t.Seeds, run.results.Seed)
		}
	}
	for i := range sum {
		sum[i] /= float64(seeds)
	}
	t.Loss = significance.PairedT(sum)
}

// alike says whether two runs scored the same tokens: of other units, a token is something else.
func alike(a, b []record.Block) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Tokens != b[i].Tokens {
			return false
		}
	}
	return true
}
