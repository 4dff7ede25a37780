package report

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// buffer is a file in memory.
type buffer struct{ bytes.Buffer }

func (*buffer) Close() error { return nil }

// The golden file holds the same events as TensorBoard's own code writes them (testdata/gen_events.py).
func TestEventsGolden(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "events.golden"))
	if err != nil {
		t.Fatal(err)
	}
	var file buffer
	clock := time.Unix(1000, 0)
	e := &Events{&file, func() time.Time { clock = clock.Add(250 * time.Millisecond); return clock }}
	h := NewHistogram([]float64{-0.5, 0.25, 0, 0.75}, -1, 1, 4)
	for _, err := range []error{
		e.begin(7, true),
		e.Scalar("loss/train", 300, 2.125),
		e.Scalar("undefined", 300, math.NaN()),
		e.Scalar("zero", 1<<40, 0),
		e.Histogram("cosine/output", 9, h),
		e.Histogram("empty", 9, NewHistogram(nil, -1, 1, 4)),
		e.Text("sample", 10, "ein kleiner Käfer"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(file.Bytes(), want) {
		t.Errorf("got\n%q, want\n%q", file.Bytes(), want)
	}
}

// The files of a run are read in the order of its processes, also where the clock was set back between them.
func TestEventsAfterTheClockWasSetBack(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "[old] a*") // no pattern
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	later := fmt.Sprintf("events.out.tfevents.%d.host.1", time.Now().Add(time.Hour).UnixNano())
	if err := os.WriteFile(filepath.Join(folder, later), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	e, err := NewEvents(folder, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 2 || entries[0].Name() != later {
		t.Errorf("the files are read in the order %v, %v", entries, err)
	}
}

// eventFiles are the contents of the two event files of a folder, in the order in which TensorBoard reads them.
func eventFiles(t *testing.T, folder string) (contents []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "events.out.tfevents.*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("files %q, %v", files, err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		contents = append(contents, string(data))
	}
	return contents
}

// A process that begins anew behind another one makes TensorBoard drop all that the other wrote.
func TestEventsBeginAnew(t *testing.T) {
	folder := t.TempDir()
	for range 2 {
		e, err := NewEvents(folder, -1)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Scalar("ppl/valid", 3, 1e39); err != nil { // more than an event file can hold
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for i, data := range eventFiles(t, folder) {
		start := string(message{}.message(7, message{}.integer(1, 1)))
		if strings.Contains(data, start) != (i == 1) || strings.Contains(data, "ppl/valid") {
			t.Errorf("file %d is %q", i, data)
		}
	}
}

// A file of its own for each process, named so that TensorBoard finds it, with everything a record holds.
func TestEventsFile(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "tb")
	for range 2 {
		e, err := NewEvents(folder, 0)
		if err != nil {
			t.Fatal(err)
		}
		r := Record{Step: 3, Split: SplitOutput, Values: map[string]float64{"i1": 0.5, "i2": math.NaN()},
			Lists: map[string][]float64{CosineHistogram: {1, 2}}}
		if err := e.Record(r); err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	data := eventFiles(t, folder)[0]
	for part, want := range map[string]bool{"brain.Event:2": true, "i1/output": true, "cosine/output": true,
		"i2/output": false} {
		if strings.Contains(data, part) != want {
			t.Errorf("the file holds %q: %v", part, !want)
		}
	}
}

func TestHistogram(t *testing.T) {
	h := NewHistogram([]float64{-2, -1, -0.01, 0, 0.5, 1, 3, math.NaN(), math.Inf(1)}, -1, 1, 4)
	want := Histogram{Low: -1, High: 1, Counts: []float64{2, 1, 1, 3}, Min: -2, Max: 3, Sum: 1.49, SumSquares: 15.2501,
		Num: 7}
	round := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
	if diff := cmp.Diff(want, h, round); diff != "" {
		t.Error(diff)
	}
	if h.Edge(0) != -1 || h.Edge(3) != 0.5 || h.Edge(4) != 1 {
		t.Errorf("edges %v %v %v", h.Edge(0), h.Edge(3), h.Edge(4))
	}
	counts := HistogramOfCounts([]float64{1, 0, 3}, 0, 3)
	want = Histogram{Low: 0, High: 3, Counts: []float64{1, 0, 3}, Min: 0, Max: 3, Sum: 8, SumSquares: 19, Num: 4}
	if diff := cmp.Diff(want, counts, round); diff != "" {
		t.Error(diff)
	}
}

// NewHistogram counts finite values in bins from low to high; those outside fall into the nearest bin, so that none is
// lost. It panics on less than one bin or an empty range, which no data can cause.
func NewHistogram(values []float64, low, high float64, bins int) Histogram {
	if bins < 1 || !(low < high) {
		panic("report: a histogram needs bins over a range")
	}
	h := Histogram{Low: low, High: high, Counts: make([]float64, bins), Min: math.Inf(1), Max: math.Inf(-1)}
	for _, x := range values {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		bin := int(math.Floor((x - low) / (high - low) * float64(bins)))
		h.Counts[min(max(bin, 0), bins-1)]++
		h.Min, h.Max = min(h.Min, x), max(h.Max, x)
		h.Sum += x
		h.SumSquares += x * x
		h.Num++
	}
	return h
}

// Text writes a text, which TensorBoard shows as Markdown.
func (e *Events) Text(tag string, step int64, text string) error {
	const typeString = 7
	shape := message{}.message(2, message{}.integer(1, 1))
	tensor := message{}.integer(1, typeString).message(2, shape).text(8, text)
	plugin := message{}.message(1, message{}.text(1, "text"))
	return e.summary(step, message{}.text(1, tag).message(8, tensor).message(9, plugin))
}
