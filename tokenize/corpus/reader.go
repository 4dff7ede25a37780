package corpus

import "fmt"

// Reader gives the chunks of running text, epoch after epoch: the updates of a language model.
type Reader struct {
	original Columns
	settings ColumnSettings
	seed     uint64

	at      Position // after the last chunk that was given
	columns Columns  // of the position's epoch
	spans   []Span   // of the position's epoch
	ends    []int    // chunks of the first epochs: of none, of one ...
}

// Passage is one chunk in all columns.
type Passage struct {
	Columns  Columns
	Span     Span
	Epoch    int
	First    bool     // an epoch begins with it
	Position Position // after it
}

// NewReader starts at a position. It is an error if that lies behind the epoch's end, as with another text or settings.
func NewReader(text Columns, s ColumnSettings, seed uint64, from Position) (*Reader, error) {
	r := &Reader{original: text, settings: s, seed: seed, at: from, ends: []int{0}}
	r.enter(max(0, from.Epoch))
	if from.Epoch < 0 || from.Batch < 0 || from.Batch >= len(r.spans) {
		return nil, fmt.Errorf("training cannot go on after update %d of epoch %d, which has %d: use the text that "+
			"the checkpoint was made with", from.Batch, from.Epoch, len(r.spans))
	}
	return r, nil
}

// enter lays out an epoch.
func (r *Reader) enter(epoch int) {
	r.spans = r.settings.Lengths.Epoch(r.original.Rows, r.seed, epoch)
	r.columns = r.original
	if r.settings.PartialShuffle {
		r.columns = r.original.Shuffled(r.seed, epoch)
	}
}

// Next gives the next chunk.
func (r *Reader) Next() Passage {
	p := Passage{First: r.at.Batch == 0, Epoch: r.at.Epoch}
	if p.First {
		r.enter(r.at.Epoch)
	}
	p.Columns, p.Span = r.columns, r.spans[r.at.Batch]
	if r.at.Batch++; r.at.Batch == len(r.spans) {
		r.at = Position{Epoch: r.at.Epoch + 1}
	}
	p.Position = r.at
	return p
}

// Position is the place after the last chunk.
func (r *Reader) Position() Position { return r.at }

// Count counts the chunks of the first epochs.
func (r *Reader) Count(epochs int) int {
	if !r.settings.Random { // all epochs are alike
		return epochs * len(r.spans)
	}
	for done := len(r.ends) - 1; done < epochs; done++ {
		r.ends = append(r.ends, r.ends[done]+len(r.settings.Lengths.Epoch(r.original.Rows, r.seed, done)))
	}
	return r.ends[epochs]
}
