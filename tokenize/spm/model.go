package spm

import (
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxFile bounds a model file: the largest published ones have about 5 MB.
const maxFile = 16 << 20

// maxPiece bounds a piece in bytes, as text is compared with pieces at each of its characters. SentencePiece learns
// pieces of at most 16 characters; those that a user defines are words or marks.
const maxPiece = 1024

// Space stands for a space in pieces: U+2581.
const Space = "\u2581"

// kind is the type of a piece, with SentencePiece's numbers.
type kind uint8

const (
	normal kind = 1 + iota
	unknown
	control
	userDefined
	unused
	byteValue
)

// piece is an entry of a model.
type piece struct {
	text  string
	score float32
	kind  kind
}

// Model is a SentencePiece model.
type Model struct {
	pieces   []piece
	ids      map[string]int32 // of normal, user-defined and unused pieces: those that text is split into
	reserved map[string]int32 // of all others
	unknown  int32
	bytes    [256]string // the pieces of byte fallback
	symbols  *trie       // of user-defined pieces; nil without any

	bpe          bool
	trie         *trie // of the pieces that text is split into, of a unigram model
	minScore     float32
	maxScore     float32
	byteFallback bool
	suffix       bool   // spaces end words instead of beginning them
	unkSurface   string // what an unknown piece decodes to

	normaliser
}

// Read reads a model file. name stands for it in errors.
func Read(r io.Reader, name string) (*Model, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: a SentencePiece model has at most %d MiB", name, maxFile>>20)
	}
	m, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// parse reads a ModelProto (sentencepiece_model.proto). Fields that it does not know it leaves alone, as Protocol
// Buffers demand.
func parse(data []byte) (*Model, error) {
	m := &Model{
		ids: map[string]int32{}, reserved: map[string]int32{}, unknown: -1, unkSurface: " \u2047 ",
		normaliser: normaliser{dummyPrefix: true, squeeze: true, escape: true},
	}
	for f, err := range fields(data) {
		switch {
		case err != nil:
		case f.is(1, wireBytes):
			var p piece
			if p, err = parsePiece(f.bytes); err == nil && p.text == "" {
				err = fmt.Errorf("piece %d is empty: %w", len(m.pieces), errDamaged)
			}
			m.pieces = append(m.pieces, p)
		case f.is(2, wireBytes):
			err = m.parseTrainer(f.bytes)
		case f.is(3, wireBytes):
			err = m.parseNormaliser(f.bytes)
		case f.is(5, wireBytes):
			err = checkDenormaliser(f.bytes)
		}
		if err != nil {
			return nil, err
		}
	}
	return m, m.prepare()
}

func parsePiece(message []byte) (piece, error) {
	p := piece{kind: normal}
	for f, err := range fields(message) {
		switch {
		case err != nil:
			return p, err
		case f.is(1, wireBytes):
			p.text = string(f.bytes)
		case f.is(2, wire32):
			p.score = math.Float32frombits(uint32(f.value))
		case f.is(3, wireVarint):
			if f.value < uint64(normal) || f.value > uint64(byteValue) {
				return p, errDamaged
			}
			p.kind = kind(f.value)
		}
	}
	return p, nil
}

func (m *Model) parseTrainer(message []byte) error {
	for f, err := range fields(message) {
		switch {
		case err != nil:
			return err
		case f.is(3, wireVarint):
			switch f.value {
			case 1, 2:
				m.bpe = f.value == 2
			case 3, 4:
				return errors.New("models of type word and char are not supported: train one of type unigram or bpe")
			default:
				return errDamaged
			}
		case f.is(24, wireVarint):
			m.suffix = f.value != 0
		case f.is(35, wireVarint):
			m.byteFallback = f.value != 0
		case f.is(44, wireBytes):
			if len(f.bytes) > maxReplacement {
				return errDamaged
			}
			m.unkSurface = string(f.bytes)
		}
	}
	return nil
}

// checkDenormaliser refuses a map that rewrites decoded text; no published model has one.
func checkDenormaliser(message []byte) error {
	for f, err := range fields(message) {
		if err != nil {
			return err
		}
		if f.is(2, wireBytes) && len(f.bytes) > 0 {
			return errors.New("a model with a normalisation in decoding (denormalizer_spec) is not supported")
		}
	}
	return nil
}

// prepare checks the pieces and builds what encoding looks them up in.
func (m *Model) prepare() error {
	m.minScore, m.maxScore = math.MaxFloat32, 0x1p-126 // the library begins at the smallest positive number, too
	for i, p := range m.pieces {
		id := int32(i)
		switch {
		case len(p.text) > maxPiece:
			return fmt.Errorf("piece %d has %d bytes, and a piece has at most %d: %w", i, len(p.text), maxPiece, errDamaged)
		case !utf8.ValidString(p.text):
			return fmt.Errorf("piece %d is no valid UTF-8: %w", i, errDamaged)
		case math.IsNaN(float64(p.score)) || math.IsInf(float64(p.score), 0):
			return fmt.Errorf("piece %d, %.80q, has no finite score: %w", i, p.text, errDamaged)
		}
		_, first := m.ids[p.text]
		_, second := m.reserved[p.text]
		if first || second {
			return fmt.Errorf("piece %d, %.80q, stands there twice: %w", i, p.text, errDamaged)
		}
		switch p.kind {
		case normal, userDefined, unused:
			m.ids[p.text] = id
		case unknown:
			if m.unknown >= 0 {
				return fmt.Errorf("pieces %d and %d both stand for unknown text: %w", m.unknown, i, errDamaged)
			}
			m.unknown = id
			m.reserved[p.text] = id
		default:
			if p.kind == byteValue && !byteName(p.text) {
				return fmt.Errorf("piece %d, %.80q, should be a byte such as <0x0A>: %w", i, p.text, errDamaged)
			}
			m.reserved[p.text] = id
		}
		if p.kind == normal {
			m.minScore, m.maxScore = min(m.minScore, p.score), max(m.maxScore, p.score)
		}
	}
	if m.unknown < 0 {
		return fmt.Errorf("no piece stands for unknown text: %w", errDamaged)
	}
	if m.byteFallback {
		for b := range m.bytes {
			m.bytes[b] = fmt.Sprintf("<0x%02X>", b)
			if id, ok := m.reserved[m.bytes[b]]; !ok || m.pieces[id].kind != byteValue {
				return fmt.Errorf("the model falls back to bytes, and piece %s is missing: %w", m.bytes[b], errDamaged)
			}
		}
	}
	m.symbols = m.trieOf(func(k kind) bool { return k == userDefined })
	m.normaliser.symbols, m.normaliser.suffix = m.symbols, m.suffix
	if !m.bpe {
		m.trie = m.trieOf(func(k kind) bool { return k == normal || k == userDefined })
	}
	return nil
}

// byteName reports whether a text has the form <0xHH>.
var byteName = regexp.MustCompile(`^<0x[0-9A-F]{2}>$`).MatchString

// trieOf is a trie of the pieces of some kinds, nil where there are none.
func (m *Model) trieOf(member func(kind) bool) *trie {
	var t *trie
	for i, p := range m.pieces {
		if member(p.kind) {
			if t == nil {
				t = newTrie()
			}
			t.add(p.text, int32(i))
		}
	}
	return t
}

// Len is the number of pieces.
func (m *Model) Len() int { return len(m.pieces) }

// Piece is the text of an id from 0 to Len-1.
func (m *Model) Piece(id int) string { return m.pieces[id].text }

// ID is the number of a piece, that of the unknown piece where the model has no such piece.
func (m *Model) ID(text string) int {
	if id, ok := m.reserved[text]; ok {
		return int(id)
	}
	if id, ok := m.ids[text]; ok {
		return int(id)
	}
	return int(m.unknown)
}

// Apart reports whether a space stands between two pieces.
func (m *Model) Apart(before, after string) bool {
	if m.suffix {
		return strings.HasSuffix(before, Space)
	}
	return strings.HasPrefix(after, Space)
}

// Encode splits text into pieces. Characters that no piece has stand in pieces of their own, neighbours joined, or as
// bytes such as <0xE2> where the model falls back to bytes. Text that is no valid UTF-8 has U+FFFD for each wrong byte.
func (m *Model) Encode(text string) []string {
	normal := m.Normalize(text)
	var spans []span
	if m.bpe {
		spans = m.encodeBPE(normal)
	} else {
		spans = m.encodeUnigram(normal)
	}
	pieces := make([]string, 0, len(spans))
	begin, afterUnknown := 0, false
	run := 0 // where the unknown characters began, which are one piece together
	for _, s := range spans {
		text, isUnknown := normal[begin:s.end], s.id == m.unknown
		begin = s.end
		switch {
		case isUnknown && m.byteFallback:
			for i := range len(text) {
				pieces = append(pieces, m.bytes[text[i]])
			}
		case isUnknown && afterUnknown:
			pieces[len(pieces)-1] = normal[run:s.end]
		default:
			pieces, run = append(pieces, text), s.end-len(text)
		}
		afterUnknown = isUnknown
	}
	return pieces
}

// span is a piece of the normalised text, which begins where the one before ends.
type span struct {
	end int
	id  int32
}

// characterLength is the length of the character that begins a text, which is not empty, by its first byte.
func characterLength(text string) int {
	n := 1
	switch text[0] >> 4 {
	case 12, 13:
		n = 2
	case 14:
		n = 3
	case 15:
		n = 4
	}
	return min(n, len(text))
}
