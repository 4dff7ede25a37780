package exchange

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/tokenize/bytebpe"
)

// tokenizerFile has a tokenizer as the library tokenizers writes it: all that transformers 5 saves of GPT-2's.
const tokenizerFile = "tokenizer.json"

// faceStages are tokenizer.json, as far as it is read.
type faceStages struct {
	Model struct {
		Kind         string          `json:"type"` // left out by the first versions
		Vocabulary   json.RawMessage `json:"vocab"`
		Merges       json.RawMessage `json:"merges"`
		Dropout      float64         `json:"dropout"`
		Prefix       string          `json:"continuing_subword_prefix"`
		Suffix       string          `json:"end_of_word_suffix"`
		ByteFallback bool            `json:"byte_fallback"`
		IgnoreMerges bool            `json:"ignore_merges"`
	} `json:"model"`
	Added         []addedToken `json:"added_tokens"`
	Normalizer    *faceStage   `json:"normalizer"`
	PreTokenizer  *faceStage   `json:"pre_tokenizer"`
	PostProcessor *faceStage   `json:"post_processor"`
}

// addedToken is a token that is looked for in text before that is split.
type addedToken struct {
	ID      int32  `json:"id"`
	Content string `json:"content"`
}

// faceStage is what a text or its pieces go through.
type faceStage struct {
	Kind        string `json:"type"`
	PrefixSpace bool   `json:"add_prefix_space"` // of ByteLevel, as is the next one
	Regex       *bool  `json:"use_regex"`
	Pattern     struct {
		Regex string `json:"Regex"`
	} `json:"pattern"` // of Split, as are the next two
	Behavior string                     `json:"behavior"`
	Invert   bool                       `json:"invert"`
	Stages   []json.RawMessage          `json:"pretokenizers"`  // of Sequence
	Special  map[string]json.RawMessage `json:"special_tokens"` // of TemplateProcessing
}

// readTokenizer reads the pieces in tokenizer.json.
func (m *GPT2) readTokenizer(d *directory) error {
	var s faceStages
	if err := d.readJSON(tokenizerFile, &s, false); err != nil {
		return err
	}
	if has := s.unlike(); has != "" {
		return refuse("%s has %s, which is not supported: only the byte-level BPE of GPT-2 is, as GPT2Tokenizer of "+
			"transformers saves it", d.path(tokenizerFile), has)
	}
	var err error
	if m.Pieces, err = s.pieces(); err != nil {
		return fmt.Errorf("%s: %w", d.path(tokenizerFile), err)
	}
	m.Notes = append(m.Notes, s.leftOut()...)
	return nil
}

// unlike is the first key by which it differs from GPT-2's tokenizer, with its value; empty where none does.
func (s *faceStages) unlike() string {
	switch model := s.Model; {
	case model.Kind != "BPE" && (model.Kind != "" || model.Merges == nil):
		return fmt.Sprintf("model.type = %.80q", model.Kind)
	case model.Dropout != 0:
		return fmt.Sprintf("model.dropout = %g", model.Dropout)
	case model.Prefix != "":
		return fmt.Sprintf("model.continuing_subword_prefix = %.80q", model.Prefix)
	case model.Suffix != "":
		return fmt.Sprintf("model.end_of_word_suffix = %.80q", model.Suffix)
	case model.ByteFallback:
		return "model.byte_fallback = true"
	case model.IgnoreMerges:
		return "model.ignore_merges = true"
	case s.Normalizer != nil:
		return fmt.Sprintf("normalizer.type = %.80q", s.Normalizer.Kind)
	case s.PreTokenizer == nil:
		return "pre_tokenizer = null"
	}
	return s.PreTokenizer.splitUnlike()
}

// The pattern that GPT-2 splits by, as its authors and as the library tokenizers write it.
var gpt2Patterns = []string{
	`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`,
	`'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`,
}

// splitUnlike is what a pre_tokenizer has that splits otherwise than GPT-2's, or empty. ByteLevel does as GPT-2, alone
// or behind a Split by GPT-2's pattern instead of its own.
func (s *faceStage) splitUnlike() string {
	if s.Kind != "Sequence" {
		return s.bytesUnlike(true)
	}
	var stages []faceStage
	var kinds []string
	for _, text := range s.Stages[:min(3, len(s.Stages))] {
		var stage faceStage
		if err := json.Unmarshal(text, &stage); err != nil {
			stage.Kind = "?"
		}
		stages, kinds = append(stages, stage), append(kinds, stage.Kind)
	}
	switch {
	case len(stages) == 1 && kinds[0] == "ByteLevel":
		return stages[0].bytesUnlike(true)
	case len(stages) == 2 && kinds[0] == "Split" && kinds[1] == "ByteLevel":
		if split := stages[0]; split.Behavior != "Isolated" || split.Invert ||
			!slices.Contains(gpt2Patterns, split.Pattern.Regex) {
			return fmt.Sprintf("a pre_tokenizer that splits by %.200q", split.Pattern.Regex)
		}
		return stages[1].bytesUnlike(false)
	}
	return fmt.Sprintf("pre_tokenizer.pretokenizers of %.80q", strings.Join(kinds, ", "))
}

// bytesUnlike is what a stage has that is not ByteLevel as GPT-2 has it, with its own pattern or without.
func (s *faceStage) bytesUnlike(pattern bool) string {
	switch has := s.Regex == nil || *s.Regex; {
	case s.Kind != "ByteLevel":
		return fmt.Sprintf("pre_tokenizer.type = %.80q", s.Kind)
	case s.PrefixSpace:
		return "add_prefix_space = true in its pre_tokenizer"
	case has != pattern:
		return fmt.Sprintf("use_regex = %v in its pre_tokenizer", has)
	}
	return ""
}

// pieces are the vocabulary with the added tokens that go on with its ids, and the merges.
func (s *faceStages) pieces() (*bytebpe.Tokenizer, error) {
	var ids map[string]int32
	if err := json.Unmarshal(s.Model.Vocabulary, &ids); err != nil {
		return nil, fmt.Errorf("model.vocab should be an object of pieces and ids: %w", err)
	}
	merges, err := s.merges()
	if err != nil {
		return nil, err
	}
	next := int32(0)
	for _, id := range ids {
		next = max(next, id+1)
	}
	slices.SortStableFunc(s.Added, func(a, b addedToken) int { return cmp.Compare(a.ID, b.ID) })
	for _, token := range s.Added {
		id, known := ids[token.Content]
		switch {
		case known && id != token.ID:
			return nil, fmt.Errorf("the added token %.80q has the id %d, and %d in model.vocab", token.Content, token.ID, id)
		case !known && token.ID != next:
			return nil, fmt.Errorf("the added token %.80q has the id %d, and the next one behind the vocabulary is %d",
				token.Content, token.ID, next)
		case !known:
			if ids == nil {
				ids = map[string]int32{}
			}
			ids[token.Content] = next
			next++
		}
	}
	return bytebpe.New(ids, merges)
}

// merges are the pairs of pieces, which are lists, or, in files of tokenizers before 0.20, texts with a space between
// them.
func (s *faceStages) merges() ([][2]string, error) {
	var lines []string
	var lists [][]string
	into := any(&lines)
	first, _ := bytes.CutPrefix(s.Model.Merges, []byte("["))
	if bytes.HasPrefix(bytes.TrimLeft(first, " \t\r\n"), []byte("[")) {
		into = &lists
	}
	if err := json.Unmarshal(s.Model.Merges, into); err != nil {
		return nil, fmt.Errorf("model.merges should be a list of pairs of pieces: %w", err)
	}
	pairs := make([][2]string, 0, len(lists)+len(lines))
	for i, list := range lists {
		if len(list) != 2 {
			return nil, fmt.Errorf("merge %d has %d pieces, and should have two", i+1, len(list))
		}
		pairs = append(pairs, [2]string(list))
	}
	for i, line := range lines {
		left, right, found := strings.Cut(line, " ")
		if !found {
			return nil, fmt.Errorf("merge %d, %.80q, should be two pieces with a space between them", i+1, line)
		}
		pairs = append(pairs, [2]string{left, right})
	}
	return pairs, nil
}

// leftOut says in sentences what it does to text that a run does not do.
func (s *faceStages) leftOut() (notes []string) {
	for _, token := range s.Added {
		if token.Content != endOfText {
			notes = append(notes, fmt.Sprintf("its added tokens, such as %.80q, are not looked for in text, which is split as "+
				"if they were none", token.Content))
			break
		}
	}
	if p := s.PostProcessor; p != nil && p.Kind != "ByteLevel" && (p.Kind != "TemplateProcessing" || len(p.Special) > 0) {
		notes = append(notes, fmt.Sprintf("its post_processor, %.80q, is left out: no token is put around a text", p.Kind))
	}
	return notes
}
