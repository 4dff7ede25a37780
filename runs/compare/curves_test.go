package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/runs/internal/report"
)

// ran is a run with validation BLEU after updates 10 and 20, and the loss of two blocks of ten tokens of a text.
func ran(seed int64, bleu [2]float64, blocks [2]float64) *trained {
	t := &trained{results: &record.Results{Seed: seed}, model: &record.Model{Blocks: map[string][]record.Block{}}}
	for i, x := range bleu {
		t.records = append(t.records, report.Record{Step: int64(10 * (i + 1)), Split: report.SplitValid,
			Values: map[string]float64{report.BLEU: x}})
		t.model.Blocks["test"] = append(t.model.Blocks["test"], record.Block{Tokens: 10, NLL: 10 * blocks[i]})
	}
	return t
}

// TestDifferences: curves, lists and blocks less the control's are those of equal seeds, with the sign of the method's
// own gain.
func TestDifferences(t *testing.T) {
	control := &row{name: "mle", runs: []*trained{ran(1, [2]float64{30, 32}, [2]float64{2, 3}),
		ran(2, [2]float64{31, 33}, [2]float64{2, 4}), ran(3, [2]float64{1, 1}, [2]float64{1, 1})}}
	method := &row{name: "spectrum", runs: []*trained{ran(1, [2]float64{31.5, 32}, [2]float64{1, 3}),
		ran(2, [2]float64{31, 35}, [2]float64{2, 1})}}
	drawn := method.curve(report.SplitValid, report.BLEU, control)
	got := [][]float64{drawn.X, drawn.Y, drawn.Low, drawn.High}
	if diff := cmp.Diff([][]float64{{10, 20}, {0.75, 1}, {0, 0}, {1.5, 2}}, got); diff != "" {
		t.Errorf("BLEU less the control's, with its band: %s", diff)
	}
	method.runs = append(method.runs, ran(4, [2]float64{1, 1}, [2]float64{1, 1})) // which the control lacks
	if got := method.curve(report.SplitValid, report.BLEU, control); cmp.Diff(drawn, got) != "" {
		t.Errorf("with a seed that the control lacks: %v", got)
	}
	method.runs = method.runs[:2]
	c := &comparison{rows: []*row{control, method}}
	less := c.lessControl(func(t *trained) []float64 { return []float64{t.records[0].Value(report.BLEU), 1} })
	if diff := cmp.Diff([]float64{1.5, 0}, less(method.runs[0])); diff != "" {
		t.Errorf("a list less the control's: %s", diff)
	}
	test := textTest{Text: "test"}
	test.blocks(control, method)
	// By block: -1 and 0 of seed 1, 0 and -3 of seed 2.
	if test.Loss.Mean != -1 || cmp.Diff([]int64{1, 2}, test.Seeds) != "" {
		t.Errorf("the losses of blocks: %+v of the seeds %v", test.Loss, test.Seeds)
	}
}
