package vectors

import (
	"errors"
	"fmt"
	"math"

	"github.com/aperture-ml/aperture/tokenize"
)

// Options are the keys of the section objective that say where target vectors come from.
type Options struct {
	File   string `toml:"vectors" init:"keep" path:"file" resume:"location" help:"file of target vectors for methods that aim at vectors: .vec text, .bin of word2vec or .bin of fastText, each also packed with gzip or Zstandard; empty makes them from the training text"`
	Centre bool   `toml:"vectors_centre" init:"keep" default:"false" help:"subtract the mean of the words' target vectors from each, which are then scaled to length 1 again"`
	End    string `toml:"vectors_end" init:"keep" default:"file" choice:"file constant" help:"vector of the end of a sentence: the file's own where it has one, as in the vMF authors' program, or in any case the constant for files without one, which no word is near"`
	Width  int    `toml:"vectors_width" init:"keep" default:"0" range:"[0,65536]" help:"numbers of a vector that is made from the training text, fewer where the vocabulary is smaller; 0 is half of model.width, at most 300"`
	Window int    `toml:"vectors_window" init:"keep" default:"2" range:"[1,1000]" help:"words to either side that a vector from the training text is made of; wide windows bring together what stands together, not what means the like"`
}

// How often a context occurs is raised to this power before it is compared with, which keeps
// rare contexts from looking too telling (Levy, Goldberg and Dagan 2015).
const contextPower = 0.75

// Singular vectors are weighted by their singular values to this power (same paper): with 0
// rare words stand near anything.
const valuePower = 0.5

// Build makes vectors from text: the positive pointwise mutual information of words that stand near each other,
//
//	max(0, log(n(w,c) n(*) / (n(w) n(c)))),  n(c) smoothed
//
// with neighbours at distance d weighted by window+1-d, factored by a truncated singular value decomposition. sentences
// are ids of v without the end of sentence, which Build adds to each as a context. seed is that of the random
// projection. Equal text, options, seed and vocabulary give equal vectors on any number of processors.
//
// It takes about 5 s on two processors for 30,000 sentences with 19,000 words, and is an error where no two words meet.
func Build(sentences [][]int32, v *tokenize.Vocabulary, o Options, seed uint64) (*Table, error) {
	if o.Width < 1 || o.Width > widest || o.Window < 1 {
		return nil, fmt.Errorf("vectors of %d numbers from %d neighbours make no sense: both must be at least 1, and "+
			"the width at most %d", o.Width, o.Window, widest)
	}
	counts, err := count(sentences, v.Len(), o.Window)
	if err != nil {
		return nil, err
	}
	m := information(counts)
	if m.entries() == 0 {
		return nil, errors.New("no two words of the training text stand near each other more often than by chance: " +
			"give a file of vectors")
	}
	width := min(o.Width, m.occupied())
	table := newTable(v, width)
	u, values := m.decompose(width, seed)
	for id := range v.Len() {
		row := table.Row(int32(id))
		for k := range width {
			row[k] = float32(u[id*width+k] * math.Pow(values[k], valuePower))
		}
	}
	clear(table.Row(tokenize.EOS)) // it has the constant
	table.finish()
	table.Source = fromText
	return table, nil
}
