package record

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/aperture-ml/aperture/internal/files"
)

// Evaluation is what a trained language model scored in another way than results.json has it.
type Evaluation struct {
	Run      string                `json:"run"`
	With     string                `json:"with"`               // static, cache or dynamic
	Settings map[string]any        `json:"settings,omitempty"` // of the cache or of dynamic evaluation
	Searched []string              `json:"searched,omitempty"` // those of the settings that the validation text chose
	Valid    TextScores            `json:"valid,omitzero"`
	Test     map[string]TextScores `json:"test"`
	Of       string                `json:"of,omitempty"` // SHA-256 of results.json, in a saved one
}

// TextScores are those of one text.
type TextScores struct {
	NLL    Number  `json:"nll"` // nats a token
	PPL    Number  `json:"ppl"`
	Tokens int     `json:"tokens"`
	Static *Number `json:"static_ppl,omitempty"` // of the model as it is, in one column and a gpt's windows too
	Legacy *Number `json:"legacy_ppl,omitempty"` // with the denominator of AWD-LSTM's program
	AnyUnits
}

// Evaluations are the ways of scoring that a run folder keeps the results of.
var Evaluations = []string{"cache", "dynamic"}

func evaluationFile(folder, with string) string {
	return filepath.Join(folder, "evaluation-"+with+".json")
}

// Save keeps an evaluation in a run's folder, in place of an earlier one of its kind, and returns the file's path.
func (e *Evaluation) Save(folder string) (path string, err error) {
	if e.Of, err = Sum(folder); err != nil {
		return "", err
	}
	path = evaluationFile(folder, e.With)
	return path, files.WriteJSON(path, e)
}

// ReadEvaluation reads a saved evaluation: nil where there is none, an error where the run's results.json is newer.
func ReadEvaluation(folder, with string) (*Evaluation, error) {
	path, e := evaluationFile(folder, with), &Evaluation{}
	err := files.ReadJSON(path, e)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	of, err := Sum(folder)
	if err != nil {
		return nil, err
	}
	if e.Of != of {
		return nil, fmt.Errorf("%s was measured before %s changed: make it anew with runs/evaluate -run %s -with %s "+
			"-save",
			path, File, folder, with)
	}
	return e, nil
}

// Sum is the SHA-256 of a run's results.json, which tells what was measured of it.
func Sum(folder string) (string, error) {
	return files.Sum(filepath.Join(folder, File))()
}
