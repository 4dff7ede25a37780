package bytebpe

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/tokenize"
)

// maxFile bounds each of the two files: those of the largest published vocabularies have about 10 MB.
const maxFile = 64 << 20

// Tokenizer is a byte-level byte-pair encoding.
type Tokenizer struct {
	ids    map[string]int32 // by the unit's printable form
	units  []string         // by id, printable; "" where vocab.json has no such id
	merges map[[2]int32]merge
	bytes  [256]int32 // the ids of single bytes
}

// merge is what becomes of two neighbours. Lower ranks come first.
type merge struct{ rank, id int32 }

// printable are the characters that stand for the 256 bytes: those that Latin-1 prints for themselves, U+0100 and on
// for the others; values are its inverse.
var printable, values = func() (letters [256]rune, bytes map[rune]byte) {
	bytes = map[rune]byte{}
	next := rune(256)
	for b := range 256 {
		r := rune(b)
		if b < '!' || b > '~' && b < 0xA1 || b == 0xAD {
			r = next
			next++
		}
		letters[b], bytes[r] = r, byte(b)
	}
	return letters, bytes
}()

// Read reads vocab.json and merges.txt. The names stand for the files in errors.
func Read(vocabulary io.Reader, vocabularyName string, merges io.Reader, mergesName string) (*Tokenizer, error) {
	t := &Tokenizer{merges: map[[2]int32]merge{}}
	if err := t.readVocabulary(vocabulary); err != nil {
		return nil, fmt.Errorf("%s: %w", vocabularyName, err)
	}
	if err := t.readMerges(merges); err != nil {
		return nil, fmt.Errorf("%s:%w", mergesName, err)
	}
	return t, nil
}

// New makes a tokenizer of the ids of units and of pairs that merge, in their order, as the two files have them. The
// tokenizer keeps ids. What is wrong with them is an error of one line.
func New(ids map[string]int32, merges [][2]string) (*Tokenizer, error) {
	t := &Tokenizer{ids: ids, merges: make(map[[2]int32]merge, len(merges))}
	if err := t.number(); err != nil {
		return nil, files.Plain(err)
	}
	for i, pair := range merges {
		err := t.join(int32(i), pair[0], pair[1])
		if strings.ContainsFunc(pair[0]+pair[1], unicode.IsSpace) { // merges.txt could not hold it
			err = fmt.Errorf("the units %.80q and %.80q have white space, which stands for no byte", pair[0], pair[1])
		}
		if err != nil {
			return nil, files.Plain(fmt.Errorf("merge %d: %w", i+1, err))
		}
	}
	return t, nil
}

func (t *Tokenizer) readVocabulary(r io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return err
	}
	if len(data) > maxFile {
		return fmt.Errorf("a vocabulary has at most %d MiB", maxFile>>20)
	}
	if err := json.Unmarshal(data, &t.ids); err != nil {
		return files.Plain(fmt.Errorf("it should be an object of units and ids, as in {\"a\": 0}: %w", err))
	}
	return t.number()
}

// idsOfUnit is how many ids a vocabulary may have for each of its units: most leave none out.
const idsOfUnit = 16

// number lists the units by their ids.
func (t *Tokenizer) number() error {
	highest := int32(-1)
	for unit, id := range t.ids {
		if unit == "" {
			return fmt.Errorf("the unit of id %d is empty", id)
		}
		if id < 0 || int(id) >= idsOfUnit*len(t.ids) {
			return fmt.Errorf("the id %d of %.80q is out of range", id, unit)
		}
		highest = max(highest, id)
	}
	t.units = make([]string, highest+1)
	for unit, id := range t.ids {
		if t.units[id] != "" {
			return fmt.Errorf("%.80q and %.80q both have the id %d", t.units[id], unit, id)
		}
		t.units[id] = unit
	}
	for b, r := range printable {
		id, ok := t.ids[string(r)]
		if !ok {
			return fmt.Errorf("the byte 0x%02X, written %c, is missing: it is no byte-level vocabulary", b, r)
		}
		t.bytes[b] = id
	}
	return nil
}

// readMerges reads lines of two units. Their errors begin with the line's number.
func (t *Tokenizer) readMerges(r io.Reader) error {
	scan := bufio.NewScanner(io.LimitReader(r, maxFile))
	number, rank := 0, int32(0)
	for scan.Scan() {
		number++
		line := scan.Text()
		if number == 1 && strings.HasPrefix(line, "#version") || line == "" {
			continue
		}
		left, right, ok := strings.Cut(line, " ")
		if !ok || left == "" || right == "" || strings.Contains(right, " ") {
			return fmt.Errorf("%d: %.80q should be two units with a space between them", number, line)
		}
		if err := t.join(rank, left, right); err != nil {
			return fmt.Errorf("%d: %w", number, err)
		}
		rank++
	}
	if err := scan.Err(); err != nil {
		return fmt.Errorf("%d: %w", number+1, err)
	}
	return nil
}

// join enters a merge. Of two merges of a pair the later counts, as in Hugging Face's tokenizers.
func (t *Tokenizer) join(rank int32, left, right string) error {
	var pair [2]int32
	for i, unit := range []string{left, right} {
		id, known := t.ids[unit]
		if !known {
			return fmt.Errorf("the vocabulary has no unit %.80q", unit)
		}
		pair[i] = id
	}
	id, known := t.ids[left+right]
	if !known {
		return fmt.Errorf("the vocabulary has no unit %.80q, which this merge makes", left+right)
	}
	t.merges[pair] = merge{rank, id}
	return nil
}

// Len is one more than the highest id.
func (t *Tokenizer) Len() int { return len(t.units) }

// Fill gives the next ids, up to size, to units that no text comes to, named as fairseq fills its vocabularies. A
// matrix may have more rows than there are units, for the sake of speed.
func (t *Tokenizer) Fill(size int) {
	for n := 0; t.Len() < size; n++ {
		t.add(tokenize.MadeUpWord(n))
	}
}

// Unit is the printable form of an id's bytes, in which Ġ is a space; "" where there is no such id.
func (t *Tokenizer) Unit(id int) string {
	if id < 0 || id >= len(t.units) {
		return ""
	}
	return t.units[id]
}

// ID is the id of a unit's printable form, or -1.
func (t *Tokenizer) ID(unit string) int {
	if id, ok := t.ids[unit]; ok {
		return int(id)
	}
	return -1
}

// Decode joins the bytes of units to text, with U+FFFD for what is no UTF-8. Ids that are none, and characters of a
// unit that stand for no byte, are left out.
func (t *Tokenizer) Decode(ids []int32) string {
	var raw []byte
	for _, id := range ids {
		for _, r := range t.Unit(int(id)) {
			if b, ok := values[r]; ok {
				raw = append(raw, b)
			}
		}
	}
	return valid(raw)
}

// valid replaces what is no UTF-8, each longest beginning of a character once, as Unicode recommends (section 3.9,
// U+FFFD substitution of maximal subparts).
func valid(raw []byte) string {
	if utf8.Valid(raw) {
		return string(raw)
	}
	var out strings.Builder
	for len(raw) > 0 {
		r, size := utf8.DecodeRune(raw)
		if r == utf8.RuneError && size == 1 {
			for size < len(raw) && size < 4 && !utf8.FullRune(raw[:size]) && !utf8.RuneStart(raw[size]) &&
				begins(raw[:size+1]) {
				size++
			}
		}
		out.WriteRune(r)
		raw = raw[size:]
	}
	return out.String()
}

// begins reports whether some character's encoding begins with these bytes.
func begins(part []byte) bool { return !utf8.FullRune(part) || utf8.Valid(part) }
