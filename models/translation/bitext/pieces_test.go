package bitext

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/tokenize/spm"
)

// imported are sides whose text is split by a model of package spm's tests, with one vocabulary.
func imported(t *testing.T, folder string) *Sides {
	t.Helper()
	model := fixtures.Gunzip(t, "../../../tokenize/spm/testdata/unigram.model.gz")
	read, err := spm.Read(strings.NewReader(string(model)), "the model")
	if err != nil {
		t.Fatal(err)
	}
	tokens := []string{"<s>", "<pad>", "</s>", "<unk>", ">>deu<<"}
	for i := range read.Len() {
		if piece := read.Piece(i); !slices.Contains(tokens, piece) {
			tokens = append(tokens, piece)
		}
	}
	d := TextSettings{Source: "en", Target: "de", SourceUnits: "sentencepiece", TargetUnits: "sentencepiece",
		Tokenize: "none", Joint: true, JointCodes: true}
	side := Given{Tokens: tokens, SentencePiece: model}
	if err := SaveGiven(d, side, side, folder); err != nil {
		t.Fatal(err)
	}
	p, err := OpenSides(d, folder)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestSentencePiece: raw text becomes ids and comes back, in every way to them, and from a folder that is saved again.
func TestSentencePiece(t *testing.T) {
	first := imported(t, t.TempDir())
	again := filepath.Join(t.TempDir(), "again")
	if err := first.Save(again); err != nil {
		t.Fatal(err)
	}
	second, err := OpenSides(first.settings, again)
	if err != nil {
		t.Fatal(err)
	}
	if first.Source.Vocabulary != first.Target.Vocabulary {
		t.Error("the joint vocabulary is two")
	}
	for _, line := range []string{"A man in an orange hat starring at something.", "",
		"Zwei junge weiße Männer sind im Freien."} {
		ids := first.Source.Encode(line)
		if got := first.Source.Raw(first.Source.Tokens(ids)); got != line {
			t.Errorf("%q came back as %q", line, got)
		}
		encode, err := second.Source.Encoder()
		if err != nil {
			t.Fatal(err)
		}
		if got := encode([]int32{7}, line); !slices.Equal(got, append([]int32{7}, ids...)) {
			t.Errorf("%q: the encoder gives %v, and Encode %v", line, got, ids)
		}
		if got := second.Source.Encode(">>deu<< " + line); !slices.Equal(got, append([]int32{4}, ids...)) {
			t.Errorf("a code in front of %q: %v", line, got)
		}
		if slices.Contains(ids, tokenize.Unk) {
			t.Errorf("%q has unknown pieces: %v", line, ids)
		}
	}
	if got := first.Source.Join([]string{"▁A", "▁piece▁of", "▁others"}); got != "A piece of others" {
		t.Errorf("pieces that the model lacks are joined to %q", got)
	}
	if got := first.Source.Units(">>xxx<< a"); got[0] == ">>xxx<<" {
		t.Errorf("a code that no vocabulary has is a symbol: %q", got)
	}
}

// TestPiecesOfWords: which pieces belong together, for words of a line and for phrases in it.
func TestPiecesOfWords(t *testing.T) {
	s := imported(t, t.TempDir()).Source
	for _, c := range []struct {
		before, after  string
		joined, within bool
	}{
		{"▁Haus", "t", true, true}, {"▁Haus", ".", true, false}, {"▁(", "Haus", true, false},
		{"▁Haus", "▁ist", false, false},
		{"▁Haus", "<unk>", false, false}, {"<unk>", "s", false, true}, {"<unk>", ".", false, false},
		{"<unk>", "▁und", false, false}, {"▁", "Haus", true, false}, {"▁3", "km", true, true},
		{"<0xC3>", "<0xBC>", true, true},
	} {
		joined, within := s.Joined(c.before, c.after), s.Within(c.before, c.after)
		if joined != c.joined || within != c.within {
			t.Errorf("%q %q: joined %v, within a word %v", c.before, c.after, joined, within)
		}
	}
}

// TestSentencePieceIsNotLearnt says what to do where no model is given.
func TestSentencePieceIsNotLearnt(t *testing.T) {
	_, err := Learn(TextSettings{Source: "en", Target: "de", SourceUnits: "sentencepiece", TargetUnits: "sentencepiece"},
		InMemory([]string{"a"}, []string{"b"}), nil)
	if err == nil || !strings.Contains(err.Error(), "-init") {
		t.Errorf("%v", err)
	}
}

// TestKeyOfPieces: encoded text is kept by the models that split it.
func TestKeyOfPieces(t *testing.T) {
	p := imported(t, t.TempDir())
	text := corpus.Parallel{Source: corpus.Text{SHA256: "1"}, Target: corpus.Text{SHA256: "2"}}
	before, err := p.encoding(text)
	if err != nil {
		t.Fatal(err)
	}
	p.Source.pieces.file = append(slices.Clone(p.Source.pieces.file), 0)
	after, err := p.encoding(text)
	if err != nil || before.Key == after.Key {
		t.Errorf("another model has the same key, %v", err)
	}
	p.settings.OPUS = true
	prepared, err := p.encoding(text)
	if err != nil || prepared.Key == after.Key {
		t.Errorf("lines that OPUS-MT prepares have the same key, %v", err)
	}
}
