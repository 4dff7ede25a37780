package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/objectives/measures"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/tokenize/score"
	"github.com/aperture-ml/aperture/torch"
)

// openedFile keeps in a run folder what opening its model gave, which takes long. It is made anew when results.json changes.
const openedFile = "compare.json"

// opened is what only a run's model tells.
type opened struct {
	Of      string                       `json:"of"` // SHA-256 of results.json
	Edition int                          `json:"edition"`
	Blocks  map[string][]block           `json:"blocks"`       // of each test text
	Buckets map[string][]block           `json:"by_frequency"` // of a language model's: by how often training has the word, as score.FrequencyBuckets
	Numbers map[string]experiment.Number `json:"numbers"`
	Curves  curves                       `json:"curves"`
	Picture *picture                     `json:"picture"`
}

// openedEdition is that of what is kept; what another one kept is made anew.
const openedEdition = 3

// curves are what a matrix has a list of.
type curves struct {
	Nearest   []float64 `json:"nearest"`   // density of the distance to the nearest other row, over the root mean square of the rows' norms
	Step      float64   `json:"step"`      // width of its bins, which begin at 0
	Variances []float64 `json:"variances"` // share of the variance along each principal component
}

// block is a part of a test text.
type block struct {
	NLL    float64 `json:"nll"` // nats, summed
	Tokens int     `json:"tokens"`
}

func (b *block) add(nll float64) {
	b.NLL += nll
	b.Tokens++
}

// Sizes of blocks: long enough to be nearly independent of their neighbours, short enough that there are many.
const (
	blockTokens = 500 // of a language model's text
	blockLines  = 16  // of a translator's
)

// open opens a run's model, or reads what opening it gave before. picture asks for that of its matrix.
func open(t *trained, picture bool, log io.Writer) (*opened, error) {
	of, err := experiment.ResultsSum(t.folder)
	if err != nil {
		return nil, err
	}
	o := &opened{Of: of, Edition: openedEdition}
	path := filepath.Join(t.folder, openedFile)
	if text, err := os.ReadFile(path); err == nil {
		var before opened
		if json.Unmarshal(text, &before) == nil && before.Of == o.Of && before.Edition == o.Edition && (before.Picture != nil || !picture) {
			return &before, nil
		}
	}
	fmt.Fprintf(log, "opening %s\n", t.folder)
	scope := torch.OpenScope() // of the tensors that reading makes
	defer scope.Close()
	read := o.readTranslator
	if t.config.Task() == experiment.LanguageModel {
		read = o.readLanguage
	}
	if err := read(t, picture, log); err != nil {
		return nil, fmt.Errorf("%s: %w", t.folder, err)
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	if err := files.Write(path, text); err != nil {
		fmt.Fprintf(log, "what was measured is not kept, and will be measured again: %v\n", err)
	}
	return o, nil
}

// readLanguage scores each test text in the columns that training scored it in, and cuts every column into blocks.
func (o *opened) readLanguage(t *trained, picture bool, log io.Writer) error {
	m, err := language.Load(t.folder, torch.CPU)
	if err != nil {
		return err
	}
	defer m.Free()
	texts, err := experiment.ReadText(t.config.Data, t.folder)
	if err != nil {
		return err
	}
	o.Blocks, o.Buckets = map[string][]block{}, map[string][]block{}
	settings, counts := m.Settings.Train, m.Words.Counts(texts.Train.IDs)
	for _, text := range texts.Tests {
		columns, err := corpus.NewColumns(text.IDs, settings.TestColumns, "the text", "train.test_columns")
		if err != nil {
			return fmt.Errorf("%s: %w", text.Name, err)
		}
		open, buckets := make([]block, columns.Count), make([]block, len(score.FrequencyBuckets()))
		// A chunk is read row by row, and a row holds a token of each column.
		m.Read(columns, settings.BPTT, func(states torch.States, targets torch.Tensor) {
			words := targets.Int64s()
			for i, x := range m.Output.NLL(states, targets).Float64s() {
				buckets[score.BucketOf(int(counts[words[i]]))].add(x)
				b := &open[i%columns.Count]
				if b.add(x); b.Tokens == blockTokens {
					o.Blocks[text.Name] = append(o.Blocks[text.Name], *b)
					*b = block{}
				}
			}
		})
		for _, b := range open {
			if b.Tokens > 0 {
				o.Blocks[text.Name] = append(o.Blocks[text.Name], b)
			}
		}
		o.Buckets[text.Name] = buckets
	}
	contexts, err := m.Contexts(texts.Valid.IDs, states)
	o.measure(t, m.Output, counts, contexts, err, picture, log)
	return nil
}

// readTranslator scores each test text a block of lines at a time.
func (o *opened) readTranslator(t *trained, picture bool, log io.Writer) error {
	m, err := translation.Load(t.folder, torch.CPU)
	if err != nil {
		return err
	}
	defer m.Free()
	o.Blocks = map[string][]block{}
	if !math.IsNaN(m.Output.Perplexity(1)) { // a density or a distance does not compare with a probability
		for name := range t.results.Test {
			lines, err := experiment.ReadLines(t.config.Data, name)
			if err != nil {
				return err
			}
			pairs, err := m.Text.TestPairs(lines)
			if err != nil {
				return err
			}
			for start := 0; start < pairs.Len(); start += blockLines {
				var part corpus.List
				for i := start; i < min(start+blockLines, pairs.Len()); i++ {
					part = append(part, pairs.At(i))
				}
				b := block{Tokens: corpus.Tokens(part)}
				b.NLL = m.NLL(part, t.config.Train.MaxTokens) * float64(b.Tokens)
				o.Blocks[name] = append(o.Blocks[name], b)
			}
		}
	}
	contexts, err := contextsOf(t, m)
	o.measure(t, m.Output, m.Text.Target.Vocabulary.Counts(), contexts, err, picture, log)
	return nil
}

// states are about how many hidden ones are looked at.
const states = 2000

func contextsOf(t *trained, m *translation.Translator) (*measures.Contexts, error) {
	lines, err := experiment.ReadLines(t.config.Data, t.config.Data.Valid)
	if err != nil {
		return nil, err
	}
	pairs, err := m.Text.TestPairs(lines)
	if err != nil {
		return nil, err
	}
	return m.Contexts(pairs, states, t.config.Train.MaxTokens), nil
}

// measure measures the output matrix, and, where err is nil, hidden states of the validation text.
func (o *opened) measure(t *trained, output *objectives.Output, counts []float64, contexts *measures.Contexts, err error, picture bool, log io.Writer) {
	scope := torch.OpenScope()
	defer scope.Close()
	w, num := output.Embedding().Matrix(), experiment.Num[float64]
	p := measures.MeasurePoints(w)
	o.Curves = curves{shortAll(p.Nearest.Values), p.Nearest.Step, shortAll(p.Components.Shares())}
	o.Numbers = map[string]experiment.Number{
		"matrix.iso_score": num(p.IsoScore), "matrix.positive_cosines": num(p.PositiveCosines), "matrix.mean_row": num(p.Components.Mean),
		"matrix.components_for_90": experiment.Num(p.Components.Needed(0.9)), "matrix.nearest_distance": num(p.MedianNearest), "matrix.radius": num(p.MedianRadius),
		"matrix.recognisable": num(p.Recognisable),
	}
	if shares := p.Components.Shares(); shares != nil {
		o.Numbers["matrix.first_component"] = num(shares[0])
	}
	if err != nil {
		fmt.Fprintf(log, "%s: its hidden states are not looked at: %v\n", t.folder, err)
	} else {
		_, _, softmax := output.SoftmaxHead()
		c := contexts.Measure(w, counts, softmax)
		for name, x := range map[string]float64{"hull_distance": c.Hull.Distance, "bias_over_gain": c.BiasOverGain, "plane_distance": c.PlaneDistance, "rare_pull": c.RarePull,
			"frequent_pull": c.FrequentPull, "recognised": c.Recognised, "margin": c.MedianMargin} {
			o.Numbers["states."+name] = num(x)
		}
		if c.Hull.Contains(1) {
			o.Numbers["states.hull_distance"] = experiment.Num(0)
		}
	}
	if picture {
		o.Picture = pictureOf(w, counts)
	}
}

// openedMeasures are the numbers that opening a model gives, with their titles and digits.
var openedMeasures = []measure{
	{name: "matrix.iso_score", title: "IsoScore", digits: 4},
	{name: "matrix.positive_cosines", title: "pairs with a positive cosine", digits: 4},
	{name: "matrix.mean_row", title: "mean row / rms of rows", digits: 4},
	{name: "matrix.first_component", title: "variance along component 1", digits: 4},
	{name: "matrix.components_for_90", title: "components for 90 % of the variance", digits: 0},
	{name: "matrix.nearest_distance", title: "nearest row / rms, median", digits: 4},
	{name: "matrix.radius", title: "radius of a word / rms, median", digits: 4},
	{name: "matrix.recognisable", title: "words with a radius above 0", digits: 3},
	{name: "states.hull_distance", title: "hull of the states to the origin / rms", digits: 4},
	{name: "states.bias_over_gain", title: "sum of b/g of their layer norm", digits: 3},
	{name: "states.plane_distance", title: "plane of their layer norm to the origin / rms", digits: 4},
	{name: "states.rare_pull", title: "pull on the rarest fifth", digits: 4},
	{name: "states.frequent_pull", title: "pull on the most frequent fifth", digits: 4},
	{name: "states.recognised", title: "states that recognise their word", digits: 4},
	{name: "states.margin", title: "margin / norm, median", digits: 4},
}

// byFrequency is the mean loss in nats of a test text's tokens in each of score.FrequencyBuckets, NaN where there are none; nil where none
// was taken.
func (o *opened) byFrequency(text string) []float64 {
	if o == nil || o.Buckets[text] == nil {
		return nil
	}
	return perToken(o.Buckets[text])
}

func shortAll(xs []float64) (all []float64) {
	for _, x := range xs {
		all = append(all, short(x))
	}
	return all
}

// perToken is the mean loss of each block; NaN for one without tokens.
func perToken(blocks []block) []float64 {
	all := make([]float64, len(blocks))
	for i, b := range blocks {
		if all[i] = math.NaN(); b.Tokens > 0 {
			all[i] = b.NLL / float64(b.Tokens)
		}
	}
	return all
}
