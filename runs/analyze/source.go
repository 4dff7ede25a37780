package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/objectives/measures"
	"github.com/aperture-ml/aperture/objectives/vectors"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// source is where a matrix comes from.
type source interface {
	// open reads it; log takes warnings.
	open(log io.Writer) (*subject, error)
}

// subject is a matrix of word vectors, in the innermost scope.
type subject struct {
	name   string
	w      torch.Tensor         // [V,D], finite
	scale  float64              // that it was multiplied by
	word   func(row int) string // what a row stands for
	counts []float64            // how often, NaN for a row that stands for no word of the text

	ordered bool // counts are unknown: the order of rows stands for that of frequencies
}

// runFolder is the output matrix of a training run, as its best checkpoint has it.
type runFolder struct{ folder, name string }

func (r runFolder) open(log io.Writer) (*subject, error) {
	open := r.translation
	if c, err := experiment.ReadConfig(r.folder); err == nil && c.Task() == experiment.LanguageModel {
		open = r.language
	}
	s, warnings, err := open()
	for _, w := range warnings {
		fmt.Fprintln(log, w)
	}
	if err != nil {
		return nil, err
	}
	for i, n := range s.counts {
		if n == 0 {
			s.counts[i] = math.NaN() // special symbols, what only fills the vocabulary up, and words of other texts
		}
	}
	return s, s.check(r.folder)
}

// translation is the output matrix of a translator.
func (r runFolder) translation() (*subject, []checkpoint.Warning, error) {
	t, err := translation.Load(r.folder, torch.CPU)
	if err != nil {
		return nil, nil, err
	}
	defer t.Free()
	v := t.Text.Target.Vocabulary
	s := &subject{name: r.name, w: t.Output.Embedding().Matrix(), scale: 1, counts: v.Counts(), word: func(row int) string { return v.Token(int32(row)) }}
	return s, t.Warnings, nil
}

// language is the output matrix of a language model. Its vocabulary holds no counts: they come from the training text,
// where that is still there.
func (r runFolder) language() (*subject, []checkpoint.Warning, error) {
	m, err := language.Load(r.folder, torch.CPU)
	if err != nil {
		return nil, nil, err
	}
	defer m.Free()
	s := &subject{name: r.name, w: m.Output.Embedding().Matrix(), scale: 1, word: func(row int) string { return m.Words.Word(int32(row)) }}
	texts, err := r.texts()
	if err != nil {
		s.orderRows()
		return s, m.Warnings, nil
	}
	s.counts = m.Words.Counts(texts.Train.IDs)
	return s, m.Warnings, nil
}

// texts are those that the run was trained on.
func (r runFolder) texts() (*language.Texts, error) {
	c, err := experiment.ReadConfig(r.folder)
	if err != nil {
		return nil, err
	}
	return experiment.ReadText(c.Data, r.folder)
}

// vectorFile is a file of vectors.
type vectorFile struct{ path, tensor, name string }

const safetensors = ".safetensors"

// splitName splits FILE.safetensors:NAME.
func splitName(path string) (file, tensor string) {
	if i := strings.LastIndex(path, safetensors+":"); i >= 0 {
		return path[:i+len(safetensors)], path[i+len(safetensors)+1:]
	}
	return path, ""
}

func isVectorFile(path string) bool {
	return slices.ContainsFunc([]string{safetensors, ".vec", ".txt", ".bin", ".gz"}, func(ending string) bool { return strings.HasSuffix(path, ending) })
}

func (f vectorFile) open(io.Writer) (*subject, error) {
	if info, err := os.Stat(f.path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder: name a file with -vectors, and the folder of a run with -run", f.path)
	}
	s := &subject{name: f.name, scale: 1, word: func(row int) string { return fmt.Sprintf("row %d", row) }}
	where := f.path
	if strings.HasSuffix(f.path, safetensors) {
		all, _, err := torch.ReadSafetensors(f.path, torch.CPU)
		if err != nil {
			return nil, err
		}
		name, err := f.choose(all)
		if err != nil {
			return nil, err
		}
		s.w, where = all[name], f.path+":"+name
	} else {
		list, err := vectors.ReadAll(f.path)
		if err != nil {
			return nil, err
		}
		s.w = torch.FromFloat32s(list.Rows, torch.CPU, int64(len(list.Words)), int64(list.Width))
		s.word = func(row int) string { return list.Words[row] }
	}
	s.orderRows()
	return s, s.check(where)
}

// orderRows takes the order of the rows for that of falling frequency, where nothing else is known.
func (s *subject) orderRows() {
	s.ordered = true
	s.counts = make([]float64, s.w.Size(0))
	for i := range s.counts {
		s.counts[i] = float64(len(s.counts) - i)
	}
}

// choose finds the matrix that is meant: the one that is named, or the only one there is.
func (f vectorFile) choose(all map[string]torch.Tensor) (string, error) {
	var matrices []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if x := all[name]; x.Rank() == 2 && (x.DType() == torch.Float32 || x.DType() == torch.Float64 || x.DType() == torch.BFloat16) {
			matrices = append(matrices, name)
		}
	}
	there := func() string {
		if len(matrices) == 0 {
			return "it has no matrix of numbers"
		}
		listed := make([]string, len(matrices))
		for i, name := range matrices {
			listed[i] = fmt.Sprintf("%s %v", name, all[name].Shape())
		}
		const most = 12
		if more := len(listed) - most; more > 0 {
			listed = append(listed[:most], fmt.Sprintf("and %d more", more))
		}
		return "its matrices are " + strings.Join(listed, ", ")
	}
	switch {
	case f.tensor != "" && slices.Contains(matrices, f.tensor):
		return f.tensor, nil
	case f.tensor != "" && all[f.tensor].Defined():
		return "", fmt.Errorf("%s of %s is no matrix of numbers but %v of shape %v: %s", f.tensor, f.path, all[f.tensor].DType(), all[f.tensor].Shape(), there())
	case f.tensor != "":
		return "", fmt.Errorf("%s has no tensor %s: %s", f.path, f.tensor, there())
	case len(matrices) == 1:
		return matrices[0], nil
	case len(matrices) == 0:
		return "", fmt.Errorf("%s cannot be analyzed: %s", f.path, there())
	}
	return "", fmt.Errorf("%s holds %d matrices, so name one, as in -vectors %s:%s; %s", f.path, len(matrices), f.path, matrices[0], there())
}

// check refuses a matrix that cannot be measured; where names it.
func (s *subject) check(where string) error {
	if s.w.Size(0) == 0 || s.w.Size(1) == 0 {
		return fmt.Errorf("%s is empty: its shape is %v", where, s.w.Shape())
	}
	if s.w.AllFinite() {
		return nil
	}
	finite := s.w.To(torch.Float64, torch.CPU).Float64s()
	bad := slices.IndexFunc(finite, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
	row := bad / int(s.w.Size(1))
	return fmt.Errorf("%s holds a number that is not finite, %v in row %d (%s): measures of it mean nothing", where, finite[bad], row, s.word(row))
}

// scaleTo multiplies the matrix so that its Frobenius norm becomes that one; zeros stay.
func (s *subject) scaleTo(frobenius float64) {
	squares := 0.0
	for _, norm := range measures.RowNorms(s.w) {
		squares += norm * norm
	}
	if squares > 0 {
		s.scale = frobenius / math.Sqrt(squares)
		s.w = s.w.MulScalar(s.scale)
	}
}

// ranks numbers the rows by falling frequency, from 1; rows of no word have NaN.
func (s *subject) ranks() []float64 {
	var rows []int
	ranks := make([]float64, len(s.counts))
	for i, n := range s.counts {
		if ranks[i] = math.NaN(); !math.IsNaN(n) {
			rows = append(rows, i)
		}
	}
	slices.SortStableFunc(rows, func(i, j int) int { return cmp.Compare(s.counts[j], s.counts[i]) })
	for rank, i := range rows {
		ranks[i] = float64(rank + 1)
	}
	return ranks
}
