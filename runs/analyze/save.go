package main

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/objectives/measures"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/tokenize/score"
	"github.com/aperture-ml/aperture/torch"
)

// blockLines are those of a block of a translator's text.
const blockLines = 16

// scoreText scores each test text in the columns and chunks that training scored it in, and cuts every column into blocks.
func scoreText(m *language.Model, texts *language.Texts, counts []float64) (*record.Model, error) {
	kept := &record.Model{Blocks: map[string][]record.Block{}, Buckets: map[string][]record.Block{}}
	for _, text := range texts.Tests {
		columns, err := corpus.NewColumns(text.IDs, m.Settings.Train.TestColumns, "the text", "train.test_columns")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text.Name, err)
		}
		open, buckets := make([]record.Block, columns.Count), make([]record.Block, len(score.FrequencyBuckets()))
		// A chunk is read row by row, and a row holds a token of each column.
		m.Read(columns, 0, func(states torch.States, targets torch.Tensor) {
			words := targets.Int64s()
			for i, x := range m.Output.NLL(states, targets).Float64s() {
				buckets[score.BucketOf(int(counts[words[i]]))].Add(x)
				b := &open[i%columns.Count]
				if b.Add(x); b.Tokens == record.BlockTokens {
					kept.Blocks[text.Name] = append(kept.Blocks[text.Name], *b)
					*b = record.Block{}
				}
			}
		})
		for _, b := range open {
			if b.Tokens > 0 {
				kept.Blocks[text.Name] = append(kept.Blocks[text.Name], b)
			}
		}
		kept.Buckets[text.Name] = buckets
	}
	return kept, nil
}

// scoreTranslations scores each test text a block of lines at a time, unless by a density or a distance, which does not
// compare with a probability.
func scoreTranslations(t *translation.Translator, c *experiment.Config, folder string) (*record.Model, error) {
	results, err := record.Read(folder)
	if err != nil {
		return nil, err
	}
	kept := &record.Model{Blocks: map[string][]record.Block{}}
	if math.IsNaN(t.Output.Perplexity(1)) {
		return kept, nil
	}
	for name := range results.Test {
		lines, err := c.Data.ReadLines(name)
		if err != nil {
			return nil, err
		}
		if err := unchanged(results, lines.Sums, folder); err != nil {
			return nil, err
		}
		pairs, err := t.Text.TestPairs(lines)
		if err != nil {
			return nil, err
		}
		for start := 0; start < pairs.Len(); start += blockLines {
			var part corpus.List
			for i := start; i < min(start+blockLines, pairs.Len()); i++ {
				part = append(part, pairs.At(i))
			}
			b := record.Block{Tokens: corpus.Tokens(part)}
			b.NLL = t.NLL(part, c.Train.MaxTokens) * float64(b.Tokens)
			kept.Blocks[name] = append(kept.Blocks[name], b)
		}
	}
	return kept, nil
}

// unchanged is an error where a file, of those with the given SHA-256, is not what the run read.
func unchanged(results *record.Results, sums map[string]string, folder string) error {
	if file := results.Foreign(sums); file != "" {
		return fmt.Errorf("-save keeps measures of the texts that %s was tested on, and %s has changed since: leave "+
			"-save out", folder, file)
	}
	return nil
}

// save keeps what was measured of a run in its folder.
func (s *subject) save(a *analysis, folder string) error {
	kept, p := s.kept, a.points
	kept.Curves = record.Curves{Nearest: slices.Clone(p.Nearest.Values), Step: p.Nearest.Step,
		Variances: slices.Clone(p.Components.Shares())}
	kept.Numbers = map[string]record.Number{
		"matrix.iso_score": a.IsoScore, "matrix.positive_cosines": a.PositiveCosines, "matrix.mean_row": a.MeanRow,
		"matrix.components_for_90": record.Num(a.For90), "matrix.nearest_distance": a.MedianNearest,
		"matrix.radius": a.Radius, "matrix.recognisable": a.Recognisable, "matrix.mu_norm": a.MuNorm,
		"matrix.rare_separation": a.RareSeparation,
	}
	if len(a.Variance) > 0 {
		kept.Numbers["matrix.first_component"] = a.Variance[0]
	}
	if c := a.States; c != nil {
		maps.Copy(kept.Numbers, map[string]record.Number{
			"states.hull_distance": c.HullDistance, "states.bias_over_gain": c.BiasOverGain,
			"states.plane_distance": c.PlaneDistance, "states.rare_pull": c.RarePull,
			"states.frequent_pull": c.FrequentPull, "states.recognised": c.Recognised, "states.margin": c.MedianMargin,
			"states.iso_score": c.IsoScore, "states.logit_range": c.LogitRange,
		})
		if c.OriginInHull {
			kept.Numbers["states.hull_distance"] = record.Num(0)
		}
		if c.RankLimit > 0 {
			kept.Numbers["states.softmax_rank"] = record.Num(c.Rank)
		}
	}
	plain, centred := s.planes(a, 250)
	kept.Picture = &record.Picture{Plain: plain, Centred: centred}
	group(kept.Picture, s.order(), a.norms, measures.RowCosines(s.w))
	return kept.Save(folder)
}

// group takes means over words of like frequency rank: eight groups in a factor of ten, of a handful at least once
// there are enough.
func group(p *record.Picture, order []int, norms, cosines []float64) {
	for start := 0; start < len(order); {
		end := max(start+1, int(math.Ceil(float64(start+1)*math.Pow(10, 1.0/8)))-1)
		end = min(max(end, start+min(5, start+1)), len(order))
		var norm, cosine []float64
		for _, row := range order[start:end] {
			norm, cosine = append(norm, norms[row]), append(cosine, cosines[row])
		}
		p.Ranks = append(p.Ranks, float64(start+1+end)/2)
		p.Norms, p.Cosines = append(p.Norms, stat.Mean(norm, nil)), append(p.Cosines, stat.Mean(cosine, nil))
		start = end
	}
}
