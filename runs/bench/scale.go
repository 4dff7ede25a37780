package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/aperture-ml/aperture/runs/internal/report"
)

// scaleRows train the same updates by two processes with one thread each and, as the peer, by one process with two.
var scaleRows = []row{
	{"scale/multi30k", "tokens_per_s", scaled{"multi30k", 12, []string{"-preset=quick"}}.race},
	// Half of the preset's tokens a batch, so that the sample has enough batches for those of an update to be alike.
	{"scale/base", "tokens_per_s", scaled{"wmt14", 4,
		[]string{"-preset=base", "-set=data.merges=2000", "-set=train.max_tokens=1792"}}.race},
	{"scale/awd-lstm", "tokens_per_s", scaled{"ptb", 6, []string{"-preset=awd-lstm", "-set=train.asgd=none"}}.race},
}

// unmeasured are the updates that come before those that count.
const unmeasured = 2

// scaled is a training command on the built-in sample.
type scaled struct {
	program   string
	updates   int // of a measurement
	arguments []string
}

func (s scaled) race(b *bench, r *race) error {
	if err := b.buildRun(s.program); err != nil {
		return err
	}
	r.amount = func(int) float64 { return 1 }
	with := func(processes int) side {
		return side{step: func(int) (float64, error) { return s.train(b, r, processes) }}
	}
	r.ours, r.peer = with(2), with(1)
	return nil
}

// buildRun makes a training command in the bench's folder, from the source that this program was built from.
func (b *bench) buildRun(program string) error {
	_, source, _, _ := runtime.Caller(0)
	c := exec.CommandContext(b.ctx, "go", "build", "-o", b.folder, "../"+program)
	c.Dir = filepath.Dir(source)
	if output, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("runs/%s cannot be built: %w: %s", program, err, bytes.TrimSpace(output))
	}
	return nil
}

// train trains, and gives the seconds of a target token.
func (s scaled) train(b *bench, r *race, processes int) (float64, error) {
	out, err := os.MkdirTemp(b.folder, "run-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(out)
	folder := filepath.Join(out, "run")
	c := exec.CommandContext(b.ctx, b.path(s.program), slices.Concat([]string{
		"-out=" + folder, "-device=cpu", fmt.Sprint("-steps=", unmeasured+s.updates),
		"-set=train.log_every=1", "-set=train.validate_every=1000000", "-set=train.average_last=0",
		"-set=decode.validation_beam=0", "-set=report.test=false", "-set=report.plots=false",
		"-set=report.tensorboard=false",
	}, s.arguments, []string{
		fmt.Sprint("-processes=", processes), fmt.Sprint("-set=train.accumulate=", 2/processes),
		fmt.Sprint("-threads=", 2/processes),
	})...)
	var messages bytes.Buffer
	c.Stderr = &messages
	if err := c.Run(); err != nil {
		lines := bytes.Split(bytes.TrimSpace(messages.Bytes()), []byte("\n"))
		return 0, fmt.Errorf("runs/%s: %w: %s", s.program, err, lines[len(lines)-1])
	}
	records, err := report.ReadRecords(filepath.Join(folder, "metrics.jsonl"))
	if err != nil {
		return 0, err
	}
	return s.perToken(records, r)
}

// perToken is the mean time of a token in the updates that count. What several processes spent on sums goes to the
// row's remark.
func (s scaled) perToken(records []report.Record, race *race) (float64, error) {
	seconds, n := 0.0, 0
	var before, last report.Record
	for _, r := range records {
		if r.Split != report.SplitTrain {
			continue
		}
		if last = r; r.Step <= unmeasured {
			before = r
			continue
		}
		seconds += 1 / r.Values[report.TokensPerSecond]
		n++
	}
	if n == 0 {
		return 0, errors.New("a training command of scale wrote no metrics")
	}
	if bytes, many := last.Values["sum_bytes"]; many {
		of := func(name string) float64 { return (last.Values[name] - before.Values[name]) / float64(s.updates) }
		busy, waited := of("sum_seconds"), of("sum_wait_seconds")
		race.config = fmt.Sprintf("%.1f MB an update, under way %.0f ms, waited for %.0f ms, %.0f %% hidden",
			bytes/float64(last.Step)/1e6, 1000*busy, 1000*waited, 100*(1-waited/busy))
	}
	return seconds / float64(n), nil
}
