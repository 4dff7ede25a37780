package main

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/tokenize/score"
)

// trainedRuns trains a tiny translator and a tiny language model on the built-in sample, each with two methods.
func trainedRuns(t *testing.T) (folder string) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: it trains four small models")
	}
	folder = t.TempDir()
	if said, err := exec.Command("go", "build", "-o", folder, "../wmt14", "../ptb").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	common := []string{"-steps=20", "-threads=1", "-set=train.validate_every=10", "-set=train.average_last=0",
		"-set=report.plots=false", "-set=report.tensorboard=false", "-set=report.samples=0",
		"-set=data.sample_size=200"}
	for program, settings := range map[string][]string{
		"wmt14": {"-set=data.merges=100", "-set=model.width=16", "-set=model.ffn_width=16", "-set=model.heads=2",
			"-set=model.encoder_layers=1", "-set=model.decoder_layers=1",
			"-set=decode.beam=1", "-set=decode.max_length_a=0.3", "-set=decode.validation_beam=0"},
		"ptb": {"-set=model.width=16", "-set=model.hidden=16", "-set=model.layers=1", "-set=train.test_columns=3",
			"-set=train.bptt=20"},
	} {
		for _, method := range []string{"mle", "spectrum"} {
			args := append(append([]string{"-method=" + method,
				"-out=" + filepath.Join(folder, "runs", program, method)}, common...), settings...)
			if said, err := exec.Command(filepath.Join(folder, program), args...).CombinedOutput(); err != nil {
				t.Fatalf("%s %v: %v\n%s", program, args, err, said)
			}
		}
	}
	return filepath.Join(folder, "runs")
}

// TestModels: the blocks of a test text add up to the loss in results.json, rows are tested block by block, and a page
// has the charts of the matrices; what a model told is kept.
func TestModels(t *testing.T) {
	folder := trainedRuns(t)
	for _, program := range []string{"wmt14", "ptb"} {
		runs := filepath.Join(folder, program)
		page := filepath.Join(t.TempDir(), "page.html")
		out, log, err := compared(t, runs, "-out", page)
		if err != nil || strings.Count(log, "opening ") != 2 {
			t.Fatalf("%s: %v\n%s", program, err, log)
		}
		if drawn, err := os.ReadFile(page); err != nil ||
			strings.Contains(string(drawn), "Loss less that of mle by training frequency, test") != (program == "ptb") {
			t.Errorf("%s: the page draws no loss by training frequency, or that of a translator: %v", program, err)
		}
		if program == "ptb" && !strings.Contains(out, "| p, blocks |") {
			t.Errorf("there is no test over blocks:\n%s", out)
		}
		c, log := asJSON(t, runs)
		if strings.Contains(log, "opening") {
			t.Errorf("%s: what was measured is measured again: %s", program, log)
		}
		for _, r := range c.Rows {
			if x := r.Scores["matrix.iso_score"].Mean.Value(); !(x > 0 && x < 1) || len(r.Curves) != 1 ||
				len(r.Curves[0].Variances) != 16 {
				t.Errorf("%s: %s has the IsoScore %v and the curves %v", program, r.Name, x, r.Curves)
			}
		}
		loss := c.Rows[1].Tests["test"].Loss
		if loss == nil || loss.N < 20 {
			t.Fatalf("%s: the test over blocks is %+v", program, loss)
		}
		if d := c.Rows[1].Scores["test.test.nll"].T.Mean.Value(); math.Abs(d-loss.Mean.Value()) > 0.02*math.Abs(d)+0.01 || !(loss.Low.Value() <= loss.Mean.Value()) {
			t.Errorf("%s: the blocks differ by %v, and the texts by %v", program, loss.Mean.Value(), d)
		}
		for k, method := range []string{"mle", "spectrum"} {
			r, err := read(filepath.Join(runs, method))
			if err != nil {
				t.Fatal(err)
			}
			o, err := record.ReadModel(r.folder)
			if err != nil || o == nil {
				t.Fatal(o, err)
			}
			sum, tokens := 0.0, 0
			for _, b := range o.Blocks["test"] {
				sum += b.NLL
				tokens += b.Tokens
			}
			if want := r.results.Test["test"].NLL.Value(); math.Abs(sum/float64(tokens)-want) > 1e-5*want {
				t.Errorf("%s, %s: %v nats a token in blocks, and %v in results.json", program, method,
					sum/float64(tokens), want)
			}
			if program == "ptb" {
				checkByFrequency(t, r, o, sum, tokens, c.Rows[k].Scores)
			}
			p := o.Picture
			if p == nil || len(p.Plain.X) < 50 || len(p.Ranks) < 10 {
				t.Errorf("%s, %s: the picture is %+v", program, method, p)
			}
			if c := o.Curves; math.Abs(floats.Sum(c.Nearest)*c.Step-1) > 1e-3 ||
				math.Abs(floats.Sum(c.Variances)-1) > 1e-3 {
				t.Errorf("%s, %s: the curves are %+v", program, method, c)
			}
			if hull, plane := o.Numbers["states.hull_distance"].Value(),
				o.Numbers["states.plane_distance"].Value(); hull < plane-1e-7 {
				// Both are roots of sums of squares, whose rounding shows at about 1e-8.
				t.Errorf("%s, %s: the hull of the states comes within %v, and their plane within %v", program, method,
					hull, plane)
			}
			for _, m := range modelMeasures {
				norm := strings.HasSuffix(m.name, "gain") || strings.HasSuffix(m.name, "plane_distance")
				pulled := strings.HasSuffix(m.name, "pull") && o.Numbers["states.hull_distance"].Value() == 0
				if x := o.Numbers[m.name].Value(); math.IsNaN(x) != (norm && program == "ptb" || pulled) {
					t.Errorf("%s, %s: %s is %v", program, method, m.name, x)
				}
			}
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"spectrum, centred", "mle, as it is", "Distance to the nearest row",
			"Variance along the first principal components", "IsoScore", "hull of the states",
			"Norm of rows by frequency", "Mean cosine with all other rows"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: the page lacks %q", program, want)
			}
		}
	}
}

// checkByFrequency: the losses by training frequency add up to those of the text, over the number of words of each
// frequency that the text has, and their means are among the scores.
func checkByFrequency(t *testing.T, r *trained, o *record.Model, sum float64, tokens int, scores map[string]jsonScore) {
	t.Helper()
	c, err := experiment.ReadConfig(r.folder)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := experiment.ReadText(c.Data, r.folder)
	if err != nil {
		t.Fatal(err)
	}
	training := map[int32]int{}
	for _, id := range texts.Train.IDs {
		training[id]++
	}
	buckets := score.FrequencyBuckets()
	want := make([]int, len(buckets))
	for _, id := range texts.Tests[0].IDs {
		for i, b := range buckets {
			if n := training[id]; n >= b.Low && (n <= b.High || b.High < 0) {
				want[i]++
			}
		}
	}
	all := record.Block{}
	for i, b := range o.Buckets["test"] {
		all.NLL += b.NLL
		all.Tokens += b.Tokens
		// The first token of each of three columns is not predicted, nor are the last ones, which fill no row.
		if b.Tokens > want[i] || b.Tokens < want[i]-5 {
			t.Errorf("%d words that training saw %s times were scored, and the text has %d", b.Tokens,
				buckets[i].Name(), want[i])
		}
		x := scores["test.test.nll.seen."+buckets[i].Name()].Mean.Value()
		if math.IsNaN(x) != (b.Tokens == 0) || math.Abs(x-b.NLL/float64(b.Tokens)) > 1e-9 {
			t.Errorf("the mean loss of words seen %s times is %v beside %+v", buckets[i].Name(), x, b)
		}
	}
	if all.Tokens != tokens || math.Abs(all.NLL-sum) > 1e-6*sum {
		t.Errorf("blocks hold %v nats of %d tokens, and buckets of training frequency %+v", sum, tokens, all)
	}
}
