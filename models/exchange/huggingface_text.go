package exchange

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/tokenize"
)

// writeTokenizer writes the files of FSMT's tokenizer (transformers, models/fsmt/tokenization_fsmt.py), or of Marian's
// where the text is split by SentencePiece.
func (m *Model) writeTokenizer(folder string) error {
	if m.Text.SentencePiece() {
		return m.writeMarianTokenizer(folder)
	}
	if err := m.heldBySacremoses("the tokenizer of transformers", true); err != nil {
		return err
	}
	merges, err := m.merges()
	if err != nil {
		return err
	}
	for name, tokens := range map[string][]string{"vocab-src.json": m.Source, "vocab-tgt.json": m.Target} {
		ids, err := finalMarked(tokens, m.Text.TargetUnits == "word" && name == "vocab-tgt.json")
		if err != nil {
			return err
		}
		if err := files.WriteJSON(filepath.Join(folder, name), ids); err != nil {
			return err
		}
	}
	if err := write(folder, "merges.txt", merges); err != nil {
		return err
	}
	return files.WriteJSON(filepath.Join(folder, "tokenizer_config.json"), map[string]any{
		"tokenizer_class": "FSMTTokenizer", "langs": []string{m.Text.Source, m.Text.Target},
		"do_lower_case": m.Text.Lowercase, "model_max_length": m.MaxPositions,
	})
}

// writeMarianTokenizer writes the files of MarianTokenizer (models/marian/tokenization_marian.py), which gives raw text
// to SentencePiece.
func (m *Model) writeMarianTokenizer(folder string) error {
	if err := m.heldAsRaw("the tokenizer of transformers"); err != nil {
		return err
	}
	for i, name := range pieceFiles {
		if err := write(folder, name, m.SentencePiece[i]); err != nil {
			return err
		}
	}
	separate := !slices.Equal(m.Source, m.Target)
	vocabularies := map[string][]string{"vocab.json": m.Source}
	if separate {
		vocabularies["target_vocab.json"] = m.Target
	}
	for name, tokens := range vocabularies {
		ids := make(map[string]int, len(tokens))
		for id, token := range tokens {
			ids[token] = id
		}
		if err := files.WriteJSON(filepath.Join(folder, name), ids); err != nil {
			return err
		}
	}
	return files.WriteJSON(filepath.Join(folder, "tokenizer_config.json"), map[string]any{
		"tokenizer_class": "MarianTokenizer", "source_lang": m.Text.Source, "target_lang": m.Text.Target,
		"separate_vocabs": separate, "model_max_length": m.MaxPositions,
	})
}

// pieceFiles are the names of a model's files of SentencePiece, of source and target.
var pieceFiles = [2]string{"source.spm", "target.spm"}

// writeVocabularies writes what says which ids pieces have, where text is prepared outside.
func (m *Model) writeVocabularies(folder string) error {
	for name, tokens := range map[string][]string{
		"source_vocabulary.json": m.Source, "target_vocabulary.json": m.Target,
	} {
		if err := files.WriteJSON(filepath.Join(folder, name), tokens); err != nil {
			return err
		}
	}
	return nil
}

// merges are the byte-pair codes without their version.
func (m *Model) merges() ([]byte, error) {
	codes, err := tokenize.ReadCodes(bytes.NewReader(m.Codes), "the run's codes."+m.Text.Source)
	if err != nil {
		return nil, err
	}
	if codes.Version != "0.2" {
		return nil, &Refusal{"the tokenizer of transformers reads byte-pair codes of version 0.2, and those of data.codes " +
			"are of version " + codes.Version + ": learn them anew", true}
	}
	var b bytes.Buffer
	for _, merge := range codes.Merges {
		fmt.Fprintf(&b, "%s %s\n", merge.Left, merge.Right)
	}
	return b.Bytes(), nil
}

// finalMarked maps pieces to ids as FSMT's tokenizer spells them: what ends a word has </w>, and the @@ of other pieces
// goes. Special tokens stay. All tokens of a vocabulary of words end one.
func finalMarked(tokens []string, words bool) (map[string]int, error) {
	ids := make(map[string]int, len(tokens))
	for id, token := range tokens {
		piece, inner := strings.CutSuffix(token, tokenize.DefaultSeparator)
		switch {
		case id <= tokenize.Unk:
			piece = token
		case words || !inner || piece == "":
			piece = token + "</w>"
		}
		if other, taken := ids[piece]; taken {
			return nil, &Refusal{fmt.Sprintf("the tokenizer of transformers spells the pieces %q and %q alike: they are ids "+
				"%d and %d of the vocabulary", tokens[other], token, other, id), true}
		}
		ids[piece] = id
	}
	return ids, nil
}
