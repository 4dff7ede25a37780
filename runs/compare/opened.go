package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// openedFile keeps in a run folder what opening its model gave, which takes long. It is made anew when results.json changes.
const openedFile = "compare.json"

// opened is what only a run's model tells.
type opened struct {
	Of      string             `json:"of"`     // SHA-256 of results.json
	Blocks  map[string][]block `json:"blocks"` // of each test text
	Picture *picture           `json:"picture"`
}

// block is a piece of a test text.
type block struct {
	NLL    float64 `json:"nll"` // nats, summed
	Tokens int     `json:"tokens"`
}

// Sizes of blocks: long enough to be nearly independent of their neighbours, short enough that there are many.
const (
	blockTokens = 500 // of a language model's text
	blockLines  = 16  // of a translator's
)

// open opens a run's model, or reads what opening it gave before. picture asks for that of its matrix.
func open(t *trained, picture bool, log io.Writer) (*opened, error) {
	results, err := os.ReadFile(filepath.Join(t.folder, experiment.ResultsFile))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(results)
	o := &opened{Of: hex.EncodeToString(sum[:])}
	path := filepath.Join(t.folder, openedFile)
	if text, err := os.ReadFile(path); err == nil {
		var before opened
		if json.Unmarshal(text, &before) == nil && before.Of == o.Of && (before.Picture != nil || !picture) {
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
	if err := read(t, picture); err != nil {
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
func (o *opened) readLanguage(t *trained, picture bool) error {
	m, err := language.Load(t.folder, torch.CPU)
	if err != nil {
		return err
	}
	defer m.Free()
	texts, err := experiment.ReadText(t.config.Data, t.folder)
	if err != nil {
		return err
	}
	o.Blocks = map[string][]block{}
	settings := m.Settings.Train
	for _, text := range texts.Tests {
		columns, err := corpus.NewColumns(text.IDs, settings.TestColumns, "the text", "train.test_columns")
		if err != nil {
			return fmt.Errorf("%s: %w", text.Name, err)
		}
		open := make([]block, columns.Count)
		// A chunk is read row by row, and a row holds a token of each column.
		m.Read(columns, settings.BPTT, func(states torch.States, targets torch.Tensor) {
			for i, x := range m.Output.NLL(states, targets).Float64s() {
				b := &open[i%columns.Count]
				b.NLL += x
				if b.Tokens++; b.Tokens == blockTokens {
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
	}
	if picture {
		o.Picture = pictureOf(m.Output.Embedding().Matrix(), m.Words.Counts(texts.Train.IDs))
	}
	return nil
}

// readTranslator scores each test text a block of lines at a time.
func (o *opened) readTranslator(t *trained, picture bool) error {
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
	if picture {
		o.Picture = pictureOf(m.Output.Embedding().Matrix(), m.Text.Target.Vocabulary.Counts())
	}
	return nil
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
