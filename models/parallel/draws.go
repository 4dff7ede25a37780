package parallel

import "github.com/aperture-ml/aperture/torch"

// Draws keep the random streams of several processes where those of a single one would be. Each draw has a number, and
// every batch makes the same number of draws, whatever its size; so the batch at place k of an update draws from
// where the update begins on, k times that many draws later, and processes that share out an update draw what one
// would.
type Draws struct {
	Streams map[string]*torch.Stream
	begin   map[string]uint64 // of the update
	each    map[string]uint64 // draws of a batch
}

// Rehearse counts the draws of a batch, by one that f goes through; the streams stay where they are.
func (d *Draws) Rehearse(f func()) {
	d.Begin()
	f()
	d.each = map[string]uint64{}
	for name, s := range d.Streams {
		d.each[name] = s.Offset - d.begin[name]
		s.Offset = d.begin[name]
	}
}

// Begin says that an update begins where the streams are.
func (d *Draws) Begin() {
	d.begin = map[string]uint64{}
	for name, s := range d.Streams {
		d.begin[name] = s.Offset
	}
}

// Batch takes the streams to the batch at a place of the update, or, with the number of all batches, to the update's
// end.
func (d *Draws) Batch(place int) {
	for name, s := range d.Streams {
		s.Offset = d.begin[name] + uint64(place)*d.each[name]
	}
}
