package report

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Events writes a TensorBoard event file: TFRecord frames, each holding one Event in protocol buffer encoding.
//
// Field numbers are those of TensorFlow's event.proto, summary.proto and tensor.proto.
type Events struct {
	w   io.WriteCloser
	now func() time.Time
}

// NewEvents makes an event file of its own in folder. step is the update that the run continues from, -1 where it
// begins; behind earlier files it begins with a mark that makes TensorBoard drop their later steps.
func NewEvents(folder string, step int64) (*Events, error) {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	// TensorBoard reads a folder's files by name, so the time comes first, which is later than that of the files before
	// also where the clock was set back; it looks for "tfevents".
	const prefix = "events.out.tfevents."
	now, before := time.Now().UnixNano(), int64(0)
	earlier, _ := fs.Glob(os.DirFS(folder), prefix+"*") // the folder's name is no pattern
	for _, name := range earlier {
		if _, err := fmt.Sscanf(name, prefix+"%d.", &before); err == nil {
			now = max(now, before+1)
		}
	}
	name := fmt.Sprintf(prefix+"%d.%s.%d", now, filepath.Base(host), os.Getpid())
	file, err := os.OpenFile(filepath.Join(folder, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	e := &Events{file, time.Now}
	if err := e.begin(step, len(earlier) > 0); err != nil {
		file.Close()
		return nil, err
	}
	return e, nil
}

func (e *Events) begin(step int64, again bool) error {
	if err := e.event(0, message{}.text(3, "brain.Event:2")); err != nil {
		return err
	}
	if !again {
		return nil
	}
	const statusStart = 1
	return e.event(step+1, message{}.message(7, message{}.integer(1, statusStart)))
}

// Scalar writes one number. NaN and infinities are left out.
func (e *Events) Scalar(tag string, step int64, x float64) error {
	y := float32(x)
	if math.IsNaN(x) || math.IsInf(float64(y), 0) {
		return nil
	}
	return e.summary(step, message{}.text(1, tag).float(2, y))
}

// Histogram writes one histogram.
func (e *Events) Histogram(tag string, step int64, h Histogram) error {
	if h.Num == 0 {
		return nil
	}
	limits := make([]float64, len(h.Counts))
	for i := range limits {
		limits[i] = h.Edge(i + 1)
	}
	histogram := message{}.double(1, h.Min).double(2, h.Max).double(3, h.Num).double(4, h.Sum).
		double(5, h.SumSquares).doubles(6, limits).doubles(7, h.Counts)
	return e.summary(step, message{}.text(1, tag).message(5, histogram))
}

// Record writes a record's numbers under tags such as "loss/valid".
func (e *Events) Record(r Record) error {
	for _, name := range slices.Sorted(maps.Keys(r.Values)) {
		if err := e.Scalar(name+"/"+r.Split, r.Step, r.Values[name]); err != nil {
			return err
		}
	}
	if counts := r.Lists[CosineHistogram]; len(counts) > 0 {
		return e.Histogram("cosine/"+r.Split, r.Step, HistogramOfCounts(counts, -1, 1))
	}
	return nil
}

// Close closes the file.
func (e *Events) Close() error { return e.w.Close() }

// summary writes an event that holds one summary value.
func (e *Events) summary(step int64, value message) error {
	return e.event(step, message{}.message(5, message{}.message(1, value)))
}

// event frames one Event: its length, the length's checksum, the bytes, their checksum.
func (e *Events) event(step int64, what message) error {
	wall := float64(e.now().UnixNano()) / 1e9
	event := append(message{}.double(1, wall).integer(2, step), what...)
	frame := binary.LittleEndian.AppendUint64(nil, uint64(len(event)))
	frame = binary.LittleEndian.AppendUint32(frame, maskedChecksum(frame))
	frame = append(frame, event...)
	frame = binary.LittleEndian.AppendUint32(frame, maskedChecksum(event))
	_, err := e.w.Write(frame)
	return err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maskedChecksum is CRC-32C, rotated and shifted by a constant, since a checksum over data that holds checksums is
// weak.
func maskedChecksum(data []byte) uint32 {
	sum := crc32.Checksum(data, castagnoli)
	return (sum>>15 | sum<<17) + 0xa282ead8
}

// message is a protocol buffer message under construction; each method appends one field. Zeros are left out where a
// missing field means zero, which is everywhere but in a scalar's value: there its presence tells what kind of value it
// is.
type message []byte

const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

func (m message) tag(field, wire int) message {
	return binary.AppendUvarint(m, uint64(field)<<3|uint64(wire))
}

func (m message) integer(field int, x int64) message {
	if x == 0 {
		return m
	}
	return binary.AppendUvarint(m.tag(field, wireVarint), uint64(x))
}

func (m message) float(field int, x float32) message {
	return binary.LittleEndian.AppendUint32(m.tag(field, wireFixed32), math.Float32bits(x))
}

func (m message) double(field int, x float64) message {
	if x == 0 {
		return m
	}
	return binary.LittleEndian.AppendUint64(m.tag(field, wireFixed64), math.Float64bits(x))
}

func (m message) text(field int, s string) message {
	return append(binary.AppendUvarint(m.tag(field, wireBytes), uint64(len(s))), s...)
}

func (m message) message(field int, inner message) message {
	return append(binary.AppendUvarint(m.tag(field, wireBytes), uint64(len(inner))), inner...)
}

// doubles appends a packed repeated field.
func (m message) doubles(field int, xs []float64) message {
	m = binary.AppendUvarint(m.tag(field, wireBytes), uint64(8*len(xs)))
	for _, x := range xs {
		m = binary.LittleEndian.AppendUint64(m, math.Float64bits(x))
	}
	return m
}
