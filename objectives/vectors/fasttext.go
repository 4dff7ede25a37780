package vectors

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unsafe"
)

// readFastText reads a model of fastText (the .bin that it saves, of version 11 or 12):
//
//	int32 magic, version; int32 dim ws epoch minCount neg wordNgrams loss model bucket minn maxn lrUpdateRate; float64 t
//	int32 entries, words, labels; int64 tokens, pruned; for each entry its bytes, a zero, int64 count, int8 type (0 a word)
//	bool quantised; int64 rows, columns; float32 rows of the input matrix: the words', then the buckets' of n-grams
//	bool quantised; int64 rows, columns; float32 rows of the output matrix, which are not read
//
// all little-endian. A word's vector is the mean of its own row and those of its n-grams, and that of a word which the
// model lacks is the mean of its n-grams' rows alone (Bojanowski et al. 2017). A row is read once, where it stands, and
// added to the vectors of all words that it is part of; the matrix is never in memory.
func readFastText(raw *bufio.Reader, size int64, name string, to sink) error {
	m := &model{in: newCounter(raw, size), name: name}
	if err := m.readHead(); err != nil {
		return err
	}
	to.begin(m.width)
	if err := m.readWords(to); err != nil {
		return err
	}
	if err := m.compose(to); err != nil {
		return err
	}
	if err := m.readMatrix(); err != nil {
		return err
	}
	if err := m.readOutput(); err != nil {
		return err
	}
	for i, w := range m.slots {
		vector := m.vectors[i*m.width : (i+1)*m.width]
		for j := range vector {
			vector[j] *= 1 / float32(w.parts)
		}
		if i < m.known {
			to.keep(w.word, vector)
		} else {
			to.compose(w.word, vector)
		}
	}
	if m.others > 0 {
		to.outside(m.others, m.sum)
	}
	return nil
}

// model is a fastText model that is being read.
type model struct {
	in   *counter
	name string

	width, bucket     int
	shortest, longest int // characters of an n-gram
	entries, words    int

	slots   []slot
	known   int       // of the slots, those of the model's own words
	uses    []use     // of rows by slots
	spelt   int       // bytes of words read
	vectors []float32 // [len(slots)*width], sums of rows
	marked  []byte    // <word>
	others  int       // words that stand for no symbol
	weights []float64 // of each row in the sum of their vectors
	sum     []float64
}

// slot is a word that has a vector.
type slot struct {
	word  string
	parts int // rows that it is the mean of
}

// use says that a row of the matrix is part of a word's vector.
type use struct{ row, slot int32 }

func (m *model) failed(err error, what string) error {
	if isCut(err) {
		return fmt.Errorf("%s is cut off at byte %d, in %s of a fastText model: get the file again", m.name, m.in.at,
			what)
	}
	return fmt.Errorf("%s: byte %d: %w", m.name, m.in.at, err)
}

func (m *model) damaged(what string, values ...any) error {
	return fmt.Errorf("%s: byte %d: "+what+": the fastText model is damaged",
		append([]any{m.name, m.in.at}, values...)...)
}

func (m *model) readHead() error {
	head := make([]byte, 4*14+8+4*3+8*2)
	if err := m.in.full(head); err != nil {
		return m.failed(err, "the head")
	}
	field := func(i int) int { return int(int32(binary.LittleEndian.Uint32(head[4*i:]))) }
	if version := field(1); version != 11 && version != 12 {
		return fmt.Errorf("%s is a fastText model of version %d, and versions 11 and 12 are read: save it with "+
			"fastText 0.9.2", m.name, version)
	}
	const supervised = 3
	m.width, m.bucket, m.shortest, m.longest = field(2), field(10), field(11), field(12)
	if field(1) == 11 && field(9) == supervised {
		m.longest = 0 // its version had no n-grams for them
	}
	m.entries, m.words = field(16), field(17)
	pruned := int64(binary.LittleEndian.Uint64(head[84:]))
	switch {
	case pruned >= 0: // -1 where no words were pruned, which only quantised models are
		return m.quantised()
	case m.width < 1 || m.width > widest || m.bucket < 0 || m.words < 0 || m.entries < m.words ||
		m.words+m.bucket > mostRows:
		return m.damaged("vectors of %d numbers for %d words of %d entries, and %d buckets, make no sense", m.width,
			m.words, m.entries, m.bucket)
	case m.shortest < 0 || m.longest < 0 || m.longest > longestGram:
		return m.damaged("n-grams of minn = %d to maxn = %d characters make no sense", m.shortest, m.longest)
	}
	// a zero, a count and a type, and a word may be empty
	if err := m.fits("the words", int64(m.entries), 10); err != nil {
		return err
	}
	return m.fits("the matrix of word vectors", int64(m.words+m.bucket), 4*int64(m.width))
}

// fits is an error where these rows, each of at least that many bytes, exceed the rest of the file.
func (m *model) fits(what string, rows, bytes int64) error {
	if left := m.in.size - m.in.at; rows > left/bytes {
		return fmt.Errorf("%s is cut off at byte %d, in %s of a fastText model, which announces %d rows of %d bytes "+
			"or more: get the file again",
			m.name, m.in.size, what, rows, bytes)
	}
	return nil
}

// usesAllowed is the number of n-grams that the words with a vector may have in all. With the usual lengths, 3 to 6, a
// word has four for each of its characters; longer ones need a matrix that is as large as what is remembered of them,
// where the file shows that it is there.
func (m *model) usesAllowed() int {
	matrix := int64(m.words+m.bucket) * int64(m.width) * 4
	if m.in.size == math.MaxInt64 {
		matrix = min(matrix, mostUnseen)
	}
	return 1<<16 + 4*m.spelt + int(matrix/int64(unsafe.Sizeof(use{})))
}

// Bounds of what is set aside for a matrix that a packed file announces, in bytes: for n-grams, and for the vectors
// themselves, whose memory is not touched before they are read.
const (
	mostUnseen  = 1 << 28
	mostVectors = 1 << 32
)

// Longer n-grams no model has: words are shorter, and each character of a word begins one of each length.
const longestGram = 100

// More rows than this no model has: the head is damaged. A row takes 8 bytes of memory.
const mostRows = 1 << 26

func (m *model) quantised() error {
	return fmt.Errorf("%s is a quantised fastText model, which is not read: give the .bin that it was made from",
		m.name)
}

func (m *model) readWords(to sink) error {
	m.weights = make([]float64, m.words+m.bucket)
	rest := make([]byte, 9)
	var rows []int32
	row := int32(0)
	for range m.entries {
		word, err := m.in.ReadSlice(0)
		m.in.at += int64(len(word))
		if err == bufio.ErrBufferFull || len(word) > longestWord {
			return m.damaged("a word of more than %d bytes", min(len(word)-1, longestWord))
		} else if err != nil {
			return m.failed(err, "the words")
		}
		m.spelt += len(word) + len(rest)
		word = word[:len(word)-1]
		what, _ := to.fate(word, 0)
		text := ""
		if what == kept {
			text = string(word)
		}
		rows = m.rows(rows[:0], word, row)
		if err := m.in.full(rest); err != nil {
			return m.failed(err, "the words")
		}
		if rest[8] != 0 {
			continue // a label
		}
		if int(row) == m.words {
			return m.damaged("more than %d words", m.words)
		}
		row++
		switch what {
		case kept:
			if err := m.add(text, rows); err != nil {
				return err
			}
		case averaged:
			m.others++
			for _, r := range rows {
				m.weights[r] += 1 / float64(len(rows))
			}
		}
	}
	if int(row) != m.words {
		return m.damaged("%d words, and %d were announced", row, m.words)
	}
	return nil
}

// compose adds the words that the sink wants and the model lacks, and puts the uses of rows in the order of the matrix.
func (m *model) compose(to sink) error {
	m.known = len(m.slots)
	if wanted := to.wanted(); len(wanted) > 0 {
		there := make(map[string]bool, len(m.slots))
		for _, w := range m.slots {
			there[w.word] = true
		}
		for _, word := range wanted {
			if there[word] {
				continue
			}
			m.spelt += len(word)
			if rows := m.rows(nil, []byte(word), none); len(rows) > 0 { // a word may be too short for an n-gram
				if err := m.add(word, rows); err != nil {
					return err
				}
			}
		}
	}
	slices.SortFunc(m.uses, func(a, b use) int {
		return cmp.Or(cmp.Compare(a.row, b.row),
			cmp.Compare(a.slot, b.slot))
	})
	return nil
}

// add makes a slot of a word.
func (m *model) add(word string, rows []int32) error {
	if len(m.uses)+len(rows) > m.usesAllowed() {
		return m.damaged("%d words have more n-grams of %d to %d characters than its matrix has room for", len(m.slots)+1,
			m.shortest, m.longest)
	}
	for _, row := range rows {
		m.uses = append(m.uses, use{row, int32(len(m.slots))})
	}
	m.slots = append(m.slots, slot{word, len(rows)})
	return nil
}

// none is the row of a word that the model lacks.
const none = -1

// rows appends the rows that a word's vector is the mean of: its own, and those of the n-grams of "<word>", of which a
// bracket alone is none. Characters begin at each byte that continues no other, as fastText has it, whether they are
// UTF-8 or not.
func (m *model) rows(rows []int32, word []byte, own int32) []int32 {
	if own != none {
		rows = append(rows, own)
	}
	if m.bucket == 0 || string(word) == "</s>" {
		return rows
	}
	m.marked = append(append(append(m.marked[:0], '<'), word...), '>')
	for from := range m.marked {
		if continues(m.marked[from]) {
			continue
		}
		end, h := from, uint32(hashStart)
		for n := 1; n <= m.longest && end < len(m.marked); n++ {
			for ok := true; ok; ok = end < len(m.marked) && continues(m.marked[end]) {
				h = hashNext(h, m.marked[end])
				end++
			}
			if n >= m.shortest && (n > 1 || from > 0 && end < len(m.marked)) {
				rows = append(rows, int32(m.words)+int32(h%uint32(m.bucket)))
			}
		}
	}
	return rows
}

func continues(b byte) bool { return b&0xC0 == 0x80 }

// hashOf is FNV-1a of 32 bits as fastText has it, over bytes that have a sign: those from 128 on set the upper 24 bits
// too.
func hashOf(bytes []byte) uint32 {
	h := uint32(hashStart)
	for _, b := range bytes {
		h = hashNext(h, b)
	}
	return h
}

const hashStart = 2166136261

func hashNext(h uint32, b byte) uint32 { return (h ^ uint32(int8(b))) * 16777619 }

// readShape reads what stands before a matrix.
func (m *model) readShape(what string) (quantised bool, rows, columns int64, err error) {
	head := make([]byte, 17)
	if err := m.in.full(head); err != nil {
		return false, 0, 0, m.failed(err, what)
	}
	return head[0] != 0, int64(binary.LittleEndian.Uint64(head[1:])), int64(binary.LittleEndian.Uint64(head[9:])), nil
}

// readMatrix sums the rows of each slot, and those of the words that stand for no symbol.
func (m *model) readMatrix() error {
	const what = "the matrix of word vectors"
	quantised, rows, columns, err := m.readShape(what)
	switch {
	case err != nil:
		return err
	case quantised:
		return m.quantised()
	case rows < int64(m.words+m.bucket) || columns != int64(m.width):
		return m.damaged("a matrix of %d by %d does not fit %d words, %d buckets and vectors of %d numbers", rows,
			columns, m.words, m.bucket, m.width)
	}
	if err := m.fits(what, rows, 4*columns); err != nil {
		return err
	}
	if m.in.size == math.MaxInt64 && 4*int64(len(m.slots))*columns > mostVectors {
		return fmt.Errorf("%s announces %d vectors of %d numbers: unpack it, and give the file that was in it", m.name,
			len(m.slots), m.width)
	}
	m.vectors, m.sum = make([]float32, len(m.slots)*m.width), make([]float64, m.width)
	raw, vector := make([]byte, 4*m.width), make([]float32, m.width)
	uses, next := m.uses, int64(0)
	for row, weight := range m.weights {
		here := 0
		for here < len(uses) && int(uses[here].row) == row {
			here++
		}
		if here == 0 && weight == 0 {
			continue
		}
		if err := m.in.skip((int64(row) - next) * int64(len(raw))); err != nil {
			return m.failed(err, what)
		}
		next = int64(row) + 1
		if err := m.in.full(raw); err != nil {
			return m.failed(err, what)
		}
		if bad := decodeFloats(raw, vector); bad > 0 {
			return fmt.Errorf("%s: number %d of row %d, at byte %d, is no finite number: the fastText model is "+
				"damaged, or its training diverged", m.name, bad, row+1, m.in.at-int64(len(raw))+4*int64(bad-1))
		}
		for _, u := range uses[:here] {
			to := m.vectors[int(u.slot)*m.width:][:m.width]
			for i, x := range vector {
				to[i] += x
			}
		}
		uses = uses[here:]
		if weight != 0 {
			for i, x := range vector {
				m.sum[i] += weight * float64(x)
			}
		}
	}
	if err := m.in.skip((rows - next) * int64(len(raw))); err != nil {
		return m.failed(err, what)
	}
	return nil
}

// readOutput passes over the output matrix, so that a file which is cut off there is found too.
func (m *model) readOutput() error {
	const what = "the output matrix"
	quantised, rows, columns, err := m.readShape(what)
	if err != nil {
		return err
	}
	if rows < 0 || columns != int64(m.width) || quantised {
		return m.damaged("an output matrix of %d by %d makes no sense beside vectors of %d numbers", rows, columns,
			m.width)
	}
	if err := m.fits(what, rows, 4*columns); err != nil {
		return err
	}
	if err := m.in.skip(4 * rows * columns); err != nil {
		return m.failed(err, what)
	}
	_, err = m.in.rest()
	return err
}
