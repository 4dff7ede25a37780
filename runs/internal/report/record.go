package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
)

// Names that records share with the plots.
const (
	SplitTrain  = "train"
	SplitValid  = "valid"
	SplitOutput = "output" // measures of the output matrix

	Loss            = "loss" // nats per target token
	Perplexity      = "ppl"
	LearningRate    = "lr"
	TokensPerSecond = "tokens_per_s"
	GradientNorm    = "grad_norm"
	BLEU            = "bleu"

	SingularValues  = "singular_values"  // list, falling
	CosineHistogram = "cosine_histogram" // list, counts in bins of equal width over [-1, 1]
)

// usual are the numbers that every line of metrics.jsonl has, null where they are undefined.
var usual = []string{Loss, Perplexity, LearningRate, TokensPerSecond, GradientNorm}

// Record is one line of metrics.jsonl: what was measured on a split after an update.
type Record struct {
	Step   int64 // updates made
	Epoch  float64
	Split  string
	Values map[string]float64   // by name; absent and NaN are undefined
	Lists  map[string][]float64 // by name
}

// Value returns a number by name, or NaN where it is undefined.
func (r *Record) Value(name string) float64 {
	if x, ok := r.Values[name]; ok {
		return x
	}
	return math.NaN()
}

// MarshalJSON writes the record as one flat object: step, epoch, split, the usual numbers, then all others by name.
func (r Record) MarshalJSON() ([]byte, error) {
	split, err := json.Marshal(r.Split)
	line := fmt.Appendf(nil, `{"step":%d,"epoch":%s,"split":%s`, r.Step, number(r.Epoch), split)
	taken := []string{"step", "epoch", "split"}
	field := func(name, value string) {
		quoted, wrong := json.Marshal(name)
		if slices.Contains(taken, name) {
			wrong = fmt.Errorf("report: a record has the field %q twice", name)
		}
		err = errors.Join(err, wrong)
		taken, line = append(taken, name), fmt.Appendf(line, ",%s:%s", quoted, value)
	}
	for _, name := range usual {
		field(name, number(r.Value(name)))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Values)) {
		if !slices.Contains(usual, name) {
			field(name, number(r.Values[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Lists)) {
		list := make([]string, len(r.Lists[name]))
		for i, x := range r.Lists[name] {
			list[i] = number(x)
		}
		field(name, "["+strings.Join(list, ",")+"]")
	}
	return append(line, '}'), err
}

// number is x as JSON, with null for what JSON cannot hold.
func number(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "null"
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// UnmarshalJSON reads what MarshalJSON writes. Fields that are neither numbers nor lists of numbers are passed over.
func (r *Record) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage // by their very names: a struct's fields take names in another case, too
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	var step *int64
	var epoch *float64
	var split string
	for _, known := range []struct {
		name  string
		value any
	}{{"step", &step}, {"epoch", &epoch}, {"split", &split}} {
		if field, ok := fields[known.name]; ok {
			if err := json.Unmarshal(field, known.value); err != nil {
				return fmt.Errorf("%s: %w", known.name, err)
			}
			delete(fields, known.name)
		}
	}
	if step == nil {
		return errors.New("no step")
	}
	*r = Record{Step: *step, Epoch: math.NaN(), Split: split, Values: map[string]float64{}, Lists: map[string][]float64{}}
	if epoch != nil {
		r.Epoch = *epoch
	}
	for name, field := range fields {
		var x *float64
		if json.Unmarshal(field, &x) == nil {
			if x != nil {
				r.Values[name] = *x
			}
			continue
		}
		var list []*float64
		if json.Unmarshal(field, &list) != nil {
			continue
		}
		values := make([]float64, len(list))
		for i, x := range list {
			if values[i] = math.NaN(); x != nil {
				values[i] = *x
			}
		}
		r.Lists[name] = values
	}
	return nil
}

// Metrics appends records to a metrics.jsonl.
type Metrics struct{ file io.WriteCloser }

// OpenMetrics opens a metrics.jsonl to append to, and makes it where there is none.
func OpenMetrics(path string) (*Metrics, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	return &Metrics{file}, nil
}

// Write appends one line, in one call of the system: a killed process leaves at most one line unfinished.
func (m *Metrics) Write(r Record) error {
	line, err := r.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = m.file.Write(append(line, '\n'))
	return err
}

// Close closes the file.
func (m *Metrics) Close() error { return m.file.Close() }

// ReadRecords reads a metrics.jsonl. It has no records where there is no file; a last line that was never finished is
// passed over, and any other line that is no record is an error that names it.
func ReadRecords(path string) ([]Record, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var records []Record
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if line[len(line)-1] != '\n' {
			break
		}
		var r Record
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, number, files.Plain(err))
		}
		records = append(records, r)
	}
	return records, nil
}
