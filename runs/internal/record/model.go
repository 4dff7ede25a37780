package record

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/runs/internal/report"
	"github.com/aperture-ml/aperture/tokenize/score"
)

// modelFile keeps what runs/analyze measured of a run's model for runs/compare.
const modelFile = "compare.json"

// Model is what only a run's model tells.
type Model struct {
	Of      string             `json:"of"` // SHA-256 of results.json
	Edition int                `json:"edition"`
	Blocks  map[string][]Block `json:"blocks"`       // of each test text, in its order
	Buckets map[string][]Block `json:"by_frequency"` // of a language model: by score.FrequencyBuckets
	Numbers map[string]Number  `json:"numbers"`
	Curves  Curves             `json:"curves"`
	Picture *Picture           `json:"picture"`
}

// modelEdition is that of what is kept; what another one kept is measured again.
const modelEdition = 3

// BlockTokens is the size of a block of a language model's text: long enough to be nearly independent of its
// neighbours, short enough that there are many.
const BlockTokens = 500

// Curves are what a matrix has a list of.
type Curves struct {
	Nearest   []float64 `json:"nearest"`   // density of the distance to the nearest row, over the norms' rms
	Step      float64   `json:"step"`      // width of its bins, which begin at 0
	Variances []float64 `json:"variances"` // share of the variance along each principal component
}

// Picture is what charts show of an output matrix.
type Picture struct {
	Plain, Centred report.Plane

	// Of words by falling frequency, in groups of like rank: the mean rank, and means over the group.
	Ranks, Norms, Cosines []float64
}

// Block is a part of a test text.
type Block struct {
	NLL    float64 `json:"nll"` // nats, summed
	Tokens int     `json:"tokens"`
}

// Add adds a token's loss.
func (b *Block) Add(nll float64) {
	b.NLL += nll
	b.Tokens++
}

// PerToken is the mean loss of each block; NaN for one without tokens.
func PerToken(blocks []Block) []float64 {
	all := make([]float64, len(blocks))
	for i, b := range blocks {
		if all[i] = math.NaN(); b.Tokens > 0 {
			all[i] = b.NLL / float64(b.Tokens)
		}
	}
	return all
}

// ReadModel reads what is kept of a run's model; nil where nothing is, or what was measured before results.json
// changed.
func ReadModel(folder string) (*Model, error) {
	sum, err := Sum(folder)
	if err != nil {
		return nil, err
	}
	var m Model
	text, err := os.ReadFile(filepath.Join(folder, modelFile))
	if err != nil || json.Unmarshal(text, &m) != nil || m.Of != sum || m.Edition != modelEdition || m.Picture == nil {
		return nil, nil
	}
	for _, buckets := range m.Buckets {
		if len(buckets) != len(score.FrequencyBuckets()) {
			return nil, nil
		}
	}
	return &m, nil
}

// Save keeps a model's measures in the run's folder, with the five digits of numbers that charts can show.
func (m *Model) Save(folder string) (err error) {
	if m.Of, err = Sum(folder); err != nil {
		return err
	}
	m.Edition = modelEdition
	p := m.Picture
	for _, list := range [][]float64{m.Curves.Nearest, m.Curves.Variances, p.Plain.X, p.Plain.Y, p.Centred.X,
		p.Centred.Y, p.Ranks, p.Norms, p.Cosines} {
		for i, x := range list {
			list[i] = short(x)
		}
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return files.Write(filepath.Join(folder, modelFile), text)
}

func short(x float64) float64 {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	scale := math.Pow(10, 4-math.Floor(math.Log10(math.Abs(x))))
	return math.Round(x*scale) / scale
}
