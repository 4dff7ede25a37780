package record

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"

	"github.com/aperture-ml/aperture/internal/files"
)

// Search is what a search for the settings of dynamic evaluation has found so far. A run's folder keeps it, so that a
// search that was stopped, or is wanted again, goes on from there.
type Search struct {
	Under Conditions `json:"under"`
	Tried []Try      `json:"tried"`
	path  string
}

// Conditions are on what losses depend beside what is searched for.
type Conditions struct {
	Of         string  `json:"of"`    // the sum of the run's results
	Texts      string  `json:"texts"` // SHA-256 of the ids that the search reads
	Statistics int     `json:"statistics"`
	Epsilon    float64 `json:"epsilon"`
	Chunk      int     `json:"chunk"`
	Context    string  `json:"context,omitempty"` // settings of the network's own
}

// Try is a point and its loss in nats a token, undefined where the weights diverge.
type Try struct {
	Rate  float64 `json:"rate"`
	Decay float64 `json:"decay"`
	NLL   Number  `json:"nll"`
}

// KeptSearch is the search that a run's folder keeps, or an empty one where that was under other conditions or is none.
// Of a run without results nothing is kept.
func KeptSearch(folder string, under Conditions) (*Search, error) {
	var err error
	if under.Of, err = Sum(folder); errors.Is(err, fs.ErrNotExist) {
		return &Search{}, nil
	} else if err != nil {
		return nil, err
	}
	s := &Search{path: filepath.Join(folder, "search-dynamic.json")}
	if err := files.ReadJSON(s.path, s); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; delete it, and the search begins anew", err)
	}
	if s.Under != under {
		s.Under, s.Tried = under, nil
	}
	return s, nil
}

// Known is the loss at a point that was tried.
func (s *Search) Known(rate, decay float64) (nll float64, ok bool) {
	for _, t := range s.Tried {
		if t.Rate == rate && t.Decay == decay {
			if nll = t.NLL.Value(); math.IsNaN(nll) {
				nll = math.Inf(1)
			}
			return nll, true
		}
	}
	return 0, false
}

// Add keeps the loss at a point.
func (s *Search) Add(rate, decay, nll float64) error {
	s.Tried = append(s.Tried, Try{rate, decay, Num(nll)})
	if s.path == "" {
		return nil
	}
	return files.WriteJSON(s.path, s)
}
