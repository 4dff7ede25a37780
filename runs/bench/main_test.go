package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checked"
)

func TestFlags(t *testing.T) {
	t.Setenv("APERTURE_PYTHON", "")
	o, err := parse([]string{"-what", "text", "-only", "bpe_apply", "-python=/opt/python", "-pairs", "9"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if o.Pairs != 9 || o.Threads != 2 || o.Python != "/opt/python" || len(o.rows()) != 2 {
		t.Errorf("pairs %d, threads %d, python %s, %d rows", o.Pairs, o.Threads, o.Python, len(o.rows()))
	}
	t.Setenv("APERTURE_PYTHON", "/env/python")
	if o, _ := parse([]string{"-what=text"}, io.Discard); o.Python != "/env/python" || o.Pairs != 7 {
		t.Errorf("python %s, %d pairs", o.Python, o.Pairs)
	}
	var help strings.Builder
	if _, err := parse([]string{"-h"}, &help); !errors.Is(err, command.ErrHelp) ||
		!strings.Contains(help.String(), "-what") {
		t.Errorf("-h gives %v and prints %q", err, help.String())
	}
}

func TestBadUsage(t *testing.T) {
	const all = "text, translation, objectives, lm, layers, load, scale"
	for args, want := range map[string]string{
		"":                        "say with -what which suite to measure: " + all,
		"-what speech":            "unknown suite -what speech: it is one of " + all,
		"-what text -isa sse":     `-isa=sse: it wants one of avx2, avx512, default`,
		"-what text -pair 3":      "unknown flag -pair: did you mean -pairs? (bench -h lists the flags)",
		"-what text -pairs 0":     "-pairs=0: it wants a whole number of at least 1",
		"-what text -threads 0":   "-threads=0: it wants a whole number of at least 1",
		"-what text -positions 0": "-positions=0: it wants a whole number of at least 1",
		"-what text -only [":      "-only: error parsing regexp: missing closing ]: `[`",
		"-what text -only xyz": "-only xyz matches no row of text: its rows are " +
			"bpe_apply/subword-nmt, bpe_apply/tokenizers, bpe_learn, tokenize",
		"-what text rest":               `unexpected argument "rest": bench takes flags only`,
		"-what text -device tpu":        `-device: unknown device "tpu": use cpu, cuda, cuda:N or auto`,
		"-what text -json /no/such/x.j": "-json /no/such/x.j: there is no folder /no/such",
	} {
		_, err := parse(strings.Fields(args), io.Discard)
		if err == nil || err.Error() != want {
			t.Errorf("%q gives %v, want %s", args, err, want)
		}
		if code := command.ExitCode(err); code != 2 {
			t.Errorf("%q has exit code %d", args, code)
		}
	}
}

// noted is a side with given times and a peak, which notes what it did.
func noted(log *[]string, name string, peak float64, seconds ...float64) side {
	note := func(what string) { *log = append(*log, name+what) }
	return side{
		step:   func(i int) (float64, error) { note(fmt.Sprint(i)); return seconds[i], nil },
		memory: func(i int) (float64, error) { note(fmt.Sprint("m", i)); return peak, nil },
	}
}

func TestRace(t *testing.T) {
	var log []string
	checked := 0
	r := &race{
		ours: noted(&log, "a", 30, 1, 2, 4), peer: noted(&log, "b", 120, 3, 4, 4),
		pieces: 3, warm: 2, measured: true, outside: true, config: "D=8",
		amount:     func(i int) float64 { return float64(12 * (i + 1)) },
		operations: func(i int) float64 { return float64(i+1) * 6e9 },
		check:      func() error { checked = len(log); return nil },
	}
	var got result
	var err error
	torch.Test(t, func() { got, err = r.run(context.Background(), 4) })
	if err != nil {
		t.Fatal(err)
	}
	want := result{TimeRatio: &spread{Median: 2.5, Min: 1, Max: 3}, MemoryRatio: defined(0.25), Ours: 12,
		Peer: defined(5),
		Rate: defined(6), OutsideProducts: defined(1), Config: "D=8"}
	want.TimeRatio.Median = (2.0 + 3.0) / 2 // of 3, 2, 1, 3
	want.Peer = defined((4.0 + 6.0) / 2)    // of 4, 6, 9, 4
	want.Rate = defined((6.0 + 6.0) / 2)    // of 6/1, 12/2, 18/4, 6/1
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if order := strings.Join(log, " "); order != "a0 b0 a1 b1 a0 b0 a1 b1 a2 b2 a0 b0 a0 am0 bm0" || checked != 4 {
		t.Errorf("the sides were run in the order %s, checked after %d", order, checked)
	}
}

func TestRaceWithoutUnits(t *testing.T) {
	var log []string
	r := &race{
		ours: noted(&log, "", 0, 2), peer: noted(&log, "", 0, 1), pieces: 1,
	}
	got, err := r.run(context.Background(), 3)
	if d := cmp.Diff(result{TimeRatio: &spread{0.5, 0.5, 0.5}, Ours: 2, Peer: defined(1)}, got); d != "" || err != nil {
		t.Error(d, err)
	}
	r.check = func() error { return errors.New("not the same work") }
	if _, err := r.run(context.Background(), 3); err == nil || err.Error() != "not the same work" {
		t.Error(err)
	}
}

func TestMemoryOfOurs(t *testing.T) { memoryOfOurs(t, torch.CPU) }

func TestMemoryOfOursOnADevice(t *testing.T) { memoryOfOurs(t, checked.Device(t)) }

func memoryOfOurs(t *testing.T, d torch.Device) {
	torch.Test(t, func() {
		kept := torch.Zeros(torch.Float32, d, 1<<20)
		h := (&race{device: d}).here(nil, func(int) error {
			s := torch.OpenScope()
			defer s.Close()
			kept.AddScalar(1).AddScalar(1)
			return nil
		})
		got, err := h.memory(0)
		if want := 8.0 * (1 << 20); err != nil || got < want || got > want*1.01 {
			t.Errorf("two copies of %d bytes peak at %.0f on %s, %v", 4<<20, got, d, err)
		}
	})
}

// What is no work of matrix products, and what other commands do, has no place on another device.
func TestTextStaysOnTheCPU(t *testing.T) {
	d := checked.Device(t)
	if o, err := parse([]string{"-what=lm", "-device", string(d)}, io.Discard); err != nil || o.device != d {
		t.Errorf("%s is taken for %q, %v", d, o.device, err)
	}
	for _, suite := range []string{"text", "scale"} {
		want := fmt.Sprintf("-device %s: the rows of %s are work for the CPU", d, suite)
		if _, err := parse([]string{"-what", suite, "-device", string(d)}, io.Discard); err == nil || err.Error() != want {
			t.Errorf("%s on %s gives %v, want %s", suite, d, err, want)
		}
	}
}

// TestScaleStaysOnTheCPU: the commands that scale starts would take a GPU where there is one.
func TestScaleStaysOnTheCPU(t *testing.T) {
	b := fake(t, context.Background(), "")
	script := "#!/bin/sh\necho \"$@\" >&2\nexit 1\n"
	if err := os.WriteFile(b.path("trainer"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := scaled{program: "trainer", updates: 1}.train(b, &race{}, 2)
	if err == nil || !strings.Contains(err.Error()+" ", " -device=cpu ") {
		t.Errorf("a training command was started so: %v", err)
	}
}

func TestResultFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	ratio := 0.5
	results := []result{
		{Name: "transformer_step/base", TimeRatio: &spread{1.5, 1.25, 2}, MemoryRatio: &ratio, Ours: 300,
			Peer: defined(200),
			Unit: "tokens_per_s", Rate: defined(53.7), OutsideProducts: &ratio, Config: "V=37000",
			Machine: Machine{Processor: "EPYC", ISA: "avx2", Steal: defined(0.125), Peak: defined(107.4)}},
		{Name: "bpe_learn", TimeRatio: &spread{20, 19, 21}, Ours: 1, Peer: defined(20), Unit: "s"},
	}
	if err := writeJSON(path, results); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	want := []any{
		map[string]any{"name": "transformer_step/base",
			"time_ratio":   map[string]any{"median": 1.5, "min": 1.25, "max": 2.0},
			"memory_ratio": 0.5, "ours": 300.0, "peer": 200.0, "unit": "tokens_per_s", "gflops": 53.7,
			"outside_products": 0.5, "config": "V=37000",
			"processor": "EPYC", "isa": "avx2", "steal": 0.125, "peak_gflops": 107.4},
		map[string]any{"name": "bpe_learn", "time_ratio": map[string]any{"median": 20.0, "min": 19.0, "max": 21.0},
			"memory_ratio": nil, "ours": 1.0, "peer": 20.0, "unit": "s", "gflops": nil, "outside_products": nil,
			"config":    "",
			"processor": "", "isa": "", "steal": nil, "peak_gflops": nil},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	var table strings.Builder
	if err := printTable(&table, results); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"transformer_step/base  1.50        1.25   2.00   0.500         300   200   tokens_per_s  " +
			"50 %              12.5 %  107   50 %        V=37000\n",
		"\nProcessor: EPYC, with avx2. ",
	} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table is\n%s", table.String())
		}
	}
	if err := writeJSON(path, nil); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(path); string(data) != "[]\n" {
		t.Errorf("no results are written as %q", data)
	}
}

// TestOtherRows drives rows of which some fail: the others are measured, reported
// and written, and what several lack is said once.
func TestOtherRows(t *testing.T) {
	missing := func(*bench, *race) error { return errors.New("the corpus is missing") }
	var log []string
	closed := false
	good := func(_ *bench, r *race) error {
		r.ours, r.peer = noted(&log, "", 0, 2), noted(&log, "", 0, 3)
		r.onClose(func() { closed = true })
		return nil
	}
	shapes := func(*bench, *race) error {
		torch.Zeros(torch.Float32, torch.CPU, 2).Add(torch.Zeros(torch.Float32, torch.CPU, 3))
		return nil
	}
	full := func(*bench, *race) error { return &fs.PathError{Op: "write", Path: "/x/y", Err: syscall.ENOSPC} }
	path := filepath.Join(t.TempDir(), "r.json")
	rows := []row{{"one", "s", missing}, {"two", "s", missing}, {"three", "s", good}, {"four", "s", shapes},
		{"five", "s", full}}
	o := options{Pairs: 3, Threads: torch.Threads(), JSON: path, only: mustMatch(""),
		suite: suite{name: "test", rows: rows}}
	var out, told strings.Builder
	var err error
	torch.Test(t, func() { err = run(context.Background(), o, &out, &told) })
	if err == nil || err.Error() != "4 of 5 rows were not measured: one, two, four, five" {
		t.Errorf("the error is %v", err)
	}
	for _, sentence := range []string{
		"aperture: the corpus is missing\n", "Add of shapes [2], [3]",
		"aperture: the disk that holds /x/y is full: free space and run the same command again\n",
	} {
		if strings.Count(told.String(), sentence) != 1 {
			t.Errorf("%q is not said once in\n%s", sentence, told.String())
		}
	}
	if command.ExitCode(err) != 1 || !closed || !strings.Contains(out.String(), "three") {
		t.Errorf("exit code %d, closed %v, table %q", command.ExitCode(err), closed, out.String())
	}
	var results []result
	if data, _ := os.ReadFile(path); json.Unmarshal(data, &results) != nil || len(results) != 1 ||
		results[0].TimeRatio.Median != 1.5 {
		t.Errorf("the file holds %+v", results)
	}
}

func TestSignal(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	var log []string
	first := func(_ *bench, r *race) error {
		r.ours, r.peer = noted(&log, "", 0, 2), noted(&log, "", 0, 3)
		return nil
	}
	second := func(b *bench, r *race) error {
		cancel(&command.SignalError{Signal: syscall.SIGTERM})
		return first(b, r)
	}
	rows := []row{{"one", "s", first}, {"two", "s", second}, {"three", "s", first}}
	o := options{Pairs: 1, Threads: torch.Threads(), only: mustMatch(""), suite: suite{name: "test", rows: rows}}
	var out strings.Builder
	err := run(ctx, o, &out, io.Discard)
	if command.ExitCode(err) != 128+15 || !strings.Contains(out.String(), "one") ||
		strings.Contains(out.String(), "two") ||
		err.Error() != "stopped by signal 15 (terminated): the rows above are whole" {
		t.Errorf("exit code %d after %v, table %q", command.ExitCode(err), err, out.String())
	}
}
