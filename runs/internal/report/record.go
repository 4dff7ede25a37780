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
	var line bytes.Buffer
	split, err := json.Marshal(r.Split)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&line, `{"step":%d,"epoch":`, r.Step)
	line.Write(number(r.Epoch))
	line.WriteString(`,"split":`)
	line.Write(split)
	field := func(name string) error {
		quoted, err := json.Marshal(name)
		if err != nil {
			return err
		}
		line.WriteByte(',')
		line.Write(quoted)
		line.WriteByte(':')
		return nil
	}
	names := slices.Clone(usual)
	for _, name := range slices.Sorted(maps.Keys(r.Values)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	taken := append([]string{"step", "epoch", "split"}, names...)
	for _, name := range names {
		if slices.Contains(taken[:3], name) {
			return nil, fmt.Errorf("report: %q cannot name a number: it is a field of its own", name)
		}
		if err := field(name); err != nil {
			return nil, err
		}
		line.Write(number(r.Value(name)))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Lists)) {
		if slices.Contains(taken, name) {
			return nil, fmt.Errorf("report: %q names a number and a list", name)
		}
		if err := field(name); err != nil {
			return nil, err
		}
		line.WriteByte('[')
		for i, x := range r.Lists[name] {
			if i > 0 {
				line.WriteByte(',')
			}
			line.Write(number(x))
		}
		line.WriteByte(']')
	}
	line.WriteByte('}')
	return line.Bytes(), nil
}

// number returns x as JSON, with null for what JSON cannot hold.
func number(x float64) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return []byte("null")
	}
	return strconv.AppendFloat(nil, x, 'g', -1, 64)
}

// UnmarshalJSON reads what MarshalJSON writes. Fields that are neither numbers nor lists of numbers are passed over.
func (r *Record) UnmarshalJSON(data []byte) error {
	var known struct {
		Step  *int64
		Epoch *float64
		Split string
	}
	var fields map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(data, &known), json.Unmarshal(data, &fields)); err != nil {
		return err
	}
	if known.Step == nil {
		return errors.New("no step")
	}
	*r = Record{Step: *known.Step, Epoch: math.NaN(), Split: known.Split, Values: map[string]float64{}, Lists: map[string][]float64{}}
	if known.Epoch != nil {
		r.Epoch = *known.Epoch
	}
	for name, field := range fields {
		if name == "step" || name == "epoch" || name == "split" {
			continue
		}
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

// ReadRecords reads a metrics.jsonl. It has no records where there is no file; a last line that was never finished is passed
// over, and any other line that is no record is an error that names it.
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
			return nil, fmt.Errorf("%s: line %d: %w", path, number, err)
		}
		records = append(records, r)
	}
	return records, nil
}
