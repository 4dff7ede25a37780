package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/objectives/measures"
	"github.com/aperture-ml/aperture/objectives/vectors"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/corpus"
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

	contexts *measures.ContextMeasures // of a run's hidden states; nil where there are none
	kept     *record.Model             // of a run whose measures are to be kept: the losses of its test texts
}

// runFolder is the output matrix of a training run, as its best checkpoint has it.
type runFolder struct {
	folder, name string
	states       int  // about how many hidden states are looked at
	save         bool // the test texts are scored

	matrix string // of a translator: output, source or target
	text   string // raw text that counts are taken from; empty for those of the run
}

func (r runFolder) open(log io.Writer) (*subject, error) {
	open := r.translation
	c, err := experiment.ReadConfig(r.folder)
	if err == nil && c.Task() == experiment.LanguageModel {
		open = r.language
	}
	s, err := open(&c, log)
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
func (r runFolder) translation(c *experiment.Config, log io.Writer) (*subject, error) {
	t, err := translation.Load(r.folder, torch.CPU)
	if err != nil {
		return nil, err
	}
	defer t.Free()
	warn(log, t.Warnings)
	side, w := t.Text.Target, t.Output.Embedding().Matrix()
	if r.matrix != "output" {
		name := "decoder.embed_tokens.weight"
		if r.matrix == "source" {
			name, side = "encoder.embed_tokens.weight", t.Text.Source
		}
		if own := t.Params.Get(name); own.Defined() { // else it is the output's
			w = own.Detach().Clone()
		}
	}
	v := side.Vocabulary
	s := &subject{name: r.name, w: w, scale: 1, word: func(row int) string { return v.Token(int32(row)) }}
	if s.counts, err = r.counts(side, t.Settings.Lines); err != nil {
		return nil, err
	}
	if s.counts == nil {
		s.orderRows()
		for i := range tokenize.Unk + 1 {
			s.counts[i] = math.NaN()
		}
	}
	if r.save {
		if s.kept, err = scoreTranslations(t, c, r.folder); err != nil {
			return nil, err
		}
	}
	if r.matrix != "output" {
		return s, nil // no state is scored by it
	}
	s.look(r.states, t.Output, log, func() (*measures.Contexts, error) {
		lines, err := c.Data.ReadLines(c.Data.Valid)
		if err != nil {
			return nil, err
		}
		pairs, err := t.Text.TestPairs(lines)
		if err != nil {
			return nil, err
		}
		return t.Contexts(pairs, r.states, c.Train.MaxTokens), nil
	})
	return s, nil
}

// counts are those of a side's symbols: in the text that is given, or as the run keeps them; nil where nothing is
// known.
func (r runFolder) counts(side *bitext.Side, l corpus.LineSettings) ([]float64, error) {
	if r.text == "" {
		if counts := side.Vocabulary.Counts(); slices.Max(counts) > 0 {
			return counts, nil
		}
		return nil, nil
	}
	lines, err := l.ReadLines(r.text, "-counts")
	if err != nil {
		return nil, err
	}
	counts := make([]float64, side.Vocabulary.Len())
	for _, line := range lines.Lines {
		for _, id := range side.Encode(line) {
			counts[id]++
		}
	}
	return counts, nil
}

// language is the output matrix of a language model. Its vocabulary holds no counts: they come from the training text,
// where that is still there.
func (r runFolder) language(c *experiment.Config, log io.Writer) (*subject, error) {
	if r.matrix != "output" || r.text != "" {
		return nil, fmt.Errorf("%s holds a language model: -matrix and -counts are for translators", r.folder)
	}
	m, err := language.Load(r.folder, torch.CPU)
	if err != nil {
		return nil, err
	}
	defer m.Free()
	warn(log, m.Warnings)
	s := &subject{name: r.name, w: m.Output.Embedding().Matrix(), scale: 1,
		word: func(row int) string { return m.Words.Word(int32(row)) }}
	var texts *language.Texts
	err = fmt.Errorf("%s was imported, and no text came with it", r.folder)
	if c.Preset != experiment.Imported {
		texts, err = experiment.ReadText(c.Data, r.folder)
	}
	if err != nil {
		s.orderRows()
	} else {
		s.counts = m.Words.Counts(texts.Train.IDs)
	}
	if r.save {
		if err != nil {
			return nil, err
		}
		results, err := record.Read(r.folder)
		if err != nil {
			return nil, err
		}
		if err := unchanged(results, texts.Sums, r.folder); err != nil {
			return nil, err
		}
		if s.kept, err = scoreText(m, texts, s.counts); err != nil {
			return nil, err
		}
	}
	s.look(r.states, m.Output, log, func() (*measures.Contexts, error) {
		if err != nil {
			return nil, err
		}
		return m.Contexts(texts.Valid.IDs, r.states)
	})
	return s, nil
}

func warn(log io.Writer, warnings []checkpoint.Warning) {
	for _, w := range warnings {
		fmt.Fprintln(log, w)
	}
}

// look measures hidden states, where the text that they come from is still there.
func (s *subject) look(states int, output *objectives.Output, log io.Writer,
	contexts func() (*measures.Contexts, error)) {
	if states == 0 {
		return
	}
	found, err := contexts()
	if err != nil {
		fmt.Fprintf(log, "%s: its hidden states are not looked at: %v\n", s.name, files.Plain(err))
		return
	}
	_, _, softmax := output.SoftmaxHead()
	var logProbs func(torch.Tensor) torch.Tensor
	if !math.IsNaN(output.Perplexity(0)) {
		logProbs = output.LogProbs
	}
	m := found.Measure(s.w, s.counts, softmax, logProbs)
	s.contexts = &m
}

// vectorFile is a file of vectors, or a folder with a checkpoint in safetensors.
type vectorFile struct {
	path, tensor, name string
	vocabulary         string // file that names the rows; empty: they have no names
	namedOnly          bool   // rows that it does not name are left out
}

const safetensors = ".safetensors"

// splitName splits FILE.safetensors:NAME.
func splitName(path string) (file, tensor string) {
	if i := strings.LastIndex(path, safetensors+":"); i >= 0 {
		return path[:i+len(safetensors)], path[i+len(safetensors)+1:]
	}
	return path, ""
}

// holdsWeights reports whether a path names a checkpoint in safetensors: a file, an index of shards, or a folder of
// these.
func holdsWeights(path string) bool {
	info, err := os.Stat(path)
	return strings.HasSuffix(path, safetensors) || strings.HasSuffix(path, safetensors+".index.json") ||
		err == nil && info.IsDir()
}

func isVectorFile(path string) bool {
	return holdsWeights(path) || slices.ContainsFunc([]string{".vec", ".txt", ".bin", ".gz", ".zst"},
		func(ending string) bool { return strings.HasSuffix(path, ending) })
}

func (f vectorFile) open(io.Writer) (*subject, error) {
	s := &subject{name: f.name, scale: 1, word: func(row int) string { return fmt.Sprintf("row %d", row) }}
	where := f.path
	if holdsWeights(f.path) {
		all, err := torch.OpenWeights(f.path)
		if err != nil {
			return nil, err
		}
		name, err := f.choose(all)
		if err != nil {
			return nil, err
		}
		if s.w, err = all.ReadFloats(name, torch.CPU); err != nil {
			return nil, err
		}
		where = f.path + ":" + name
		if f.tensor == "" {
			s.name += ":" + name
		}
	} else {
		list, err := vectors.ReadAll(f.path)
		if err != nil {
			return nil, err
		}
		s.w = torch.FromFloat32s(list.Rows, torch.CPU, int64(len(list.Words)), int64(list.Width))
		s.word = func(row int) string { return list.Words[row] }
	}
	if f.vocabulary != "" {
		if err := s.nameRows(f.vocabulary, where, f.namedOnly); err != nil {
			return nil, err
		}
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
func (f vectorFile) choose(all *torch.Weights) (string, error) {
	matrices := all.Matrices()
	there := func() string {
		if len(matrices) == 0 {
			return "it has no matrix of numbers"
		}
		listed := make([]string, len(matrices))
		for i, name := range matrices {
			shape, _, _ := all.Shape(name)
			listed[i] = fmt.Sprintf("%s %v", name, shape)
		}
		const most = 12
		if more := len(listed) - most; more > 0 {
			listed = append(listed[:most], fmt.Sprintf("and %d more", more))
		}
		return "its matrices are " + strings.Join(listed, ", ")
	}
	shape, dtype, known := all.Shape(f.tensor)
	switch {
	case f.tensor != "" && slices.Contains(matrices, f.tensor) || all.Missing(f.tensor) != "" && f.tensor != "":
		return f.tensor, nil // where its shard is missing, reading it says so
	case known:
		return "", fmt.Errorf("%s of %s is no matrix of numbers but %s of shape %v: %s", f.tensor, f.path, dtype, shape,
			there())
	case f.tensor != "":
		return "", fmt.Errorf("%s has no tensor %s: %s", f.path, f.tensor, there())
	case all.Missing("") != "":
		return "", fmt.Errorf("%s names the shard %s, which is not there: get it, or name a tensor of another one "+
			"with -tensor; %s", all.Path(), all.Missing(""), there())
	case len(matrices) == 1:
		return matrices[0], nil
	case len(matrices) == 0:
		return "", fmt.Errorf("%s cannot be analyzed: %s", f.path, there())
	}
	how := "-tensor " + matrices[0]
	if strings.HasSuffix(f.path, safetensors) {
		how = "-vectors " + f.path + ":" + matrices[0]
	}
	return "", fmt.Errorf("%s holds %d matrices, so name one, as in %s; %s", f.path, len(matrices), how, there())
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
	return fmt.Errorf("%s holds a number that is not finite, %v in row %d (%s): measures of it mean nothing", where,
		finite[bad], row, s.word(row))
}

// scaleTo multiplies the matrix so that its Frobenius norm becomes that one; zeros stay.
func (s *subject) scaleTo(frobenius float64) {
	squares := 0.0
	for _, norm := range measures.RowNorms(s.w) {
		squares += norm * norm
	}
	if squares > 0 {
		s.scale = frobenius / math.Sqrt(squares)
		s.replace(s.w.MulScalar(s.scale))
	}
}

// replace puts another matrix in place of the subject's, which is freed.
func (s *subject) replace(w torch.Tensor) {
	torch.Free(s.w)
	s.w = w
}

// order lists the rows that stand for words, by falling frequency.
func (s *subject) order() (rows []int) {
	for i, n := range s.counts {
		if !math.IsNaN(n) {
			rows = append(rows, i)
		}
	}
	slices.SortStableFunc(rows, func(i, j int) int { return cmp.Compare(s.counts[j], s.counts[i]) })
	return rows
}
