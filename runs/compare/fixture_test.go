package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/tokenize/score"
)

// made is a run folder to be made up.
type made struct {
	method string
	seed   int
	ppl    float64 // of validation; that of the test text is 1 more
	wrong  int     // how many of its 40 translations are wrong in one word
	change func(c *experiment.Config, r map[string]any)
}

// corpusFolder holds the references of made-up runs.
func corpusFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, language := range []string{"en", "de"} {
		write(t, filepath.Join(folder, "test."+language), strings.Join(references(), "\n")+"\n")
	}
	return folder
}

func references() (lines []string) {
	for i := range 40 {
		lines = append(lines, fmt.Sprintf("the dog number %d bit the man %s twice today .", i,
			strings.Repeat("very ", i%4)))
	}
	return lines
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// makeRun writes a run's folder, without a model, into a folder of runs.
func makeRun(t *testing.T, runs, corpus string, m made) string {
	t.Helper()
	folder := filepath.Join(runs, fmt.Sprintf("%s-%d-%g", m.method, m.seed, m.ppl))
	c := experiment.Default()
	c.Run, c.Preset, c.Data.Name, c.Data.Dir, c.Data.Source, c.Data.Target = "multi30k", "tiny", "made", corpus, "en",
		"de"
	c.Objective.Method, c.Train.Seed = m.method, m.seed
	refs := references()
	hyps := references()
	for i := range m.wrong {
		hyps[i*len(hyps)/m.wrong] = strings.Replace(hyps[i*len(hyps)/m.wrong], "man", "cat", 1)
	}
	bleu, err := score.BLEUOptions{}.Corpus(hyps, [][]string{refs})
	if err != nil {
		t.Fatal(err)
	}
	nll := math.Log(m.ppl)
	results := map[string]any{
		"run": "multi30k", "method": m.method, "preset": "tiny", "seed": m.seed, "params": 1000, "updates": 100,
		"epochs": 2.0, "train_seconds": 50 + 10*len(m.method),
		"tokens_per_s": 1000.0, "peak_device_bytes": 100 << 20 * len(m.method),
		"valid": map[string]any{"nll": nll, "ppl": m.ppl}, "best": map[string]any{"step": 80, "seconds": 41.5},
		"test": map[string]any{"test": map[string]any{"nll": math.Log(m.ppl + 1), "ppl": m.ppl + 1, "bleu": bleu.Score,
			"bleu_tok": bleu.Score, "chrf": 50.0,
			"f1": map[string]any{"0": nil, "1": 0.1, "2": 0.2, "3": 0.3, "4": 0.4, "5-9": 0.5, "10-99": 0.6,
				"100-999": 0.7, "1000+": 0.8}}},
		"isotropy": map[string]any{"i1": 0.5, "i2": 0.1, "frobenius": 3.0, "mean_cosine": 0.2,
			"sigma_ratio": 0.1},
		"singular_values": []float64{3, 2, 1}, "checkpoint": "step-80",
		"code": map[string]any{"commit": "0123456789abcdef", "dirty": false},
		"data": map[string]any{"name": "made", "sha256": map[string]string{"test.de": "aa"}},
	}
	if m.change != nil {
		m.change(&c, results)
	}
	text, err := json.Marshal(results)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "results.json"), string(text))
	write(t, filepath.Join(folder, "env.json"),
		fmt.Sprintf(`{"cpu": "%v", "isa": "AVX2", "device": "cpu", "changed_files": ["a.go"]}`, m.method == "cosreg"))
	write(t, filepath.Join(folder, "config.toml"), c.TOML())
	write(t, filepath.Join(folder, "samples", "test.de"), strings.Join(hyps, "\n")+"\n")
	var lines strings.Builder
	for step := 20; step <= 100; step += 20 {
		fmt.Fprintf(&lines, `{"step":%d,"epoch":1,"split":"train","loss":%g,"ppl":null}`+"\n", step,
			5+nll-float64(step)/50)
		fmt.Fprintf(&lines, `{"step":%d,"epoch":1,"split":"valid","loss":%g,"ppl":%g,"bleu":%g}`+"\n", step,
			nll+20/float64(step), m.ppl+20/float64(step), float64(step)/10)
		fmt.Fprintf(&lines, `{"step":%d,"epoch":1,"split":"output","cosine_histogram":[0,1,%d,5,0]}`+"\n", step, m.seed)
	}
	write(t, filepath.Join(folder, "metrics.jsonl"), lines.String())
	return folder
}

// fewRuns are three methods with three seeds, of which one method is trained longer and lacks a seed.
func fewRuns(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	corpus := corpusFolder(t)
	for seed := 1; seed <= 3; seed++ {
		makeRun(t, folder, corpus, made{method: "mle", seed: seed, ppl: 10 + float64(seed)/10, wrong: 20})
		makeRun(t, folder, corpus, made{method: "spectrum", seed: seed, ppl: 9 + float64(seed)/9, wrong: 4})
		if seed < 3 {
			makeRun(t, folder, corpus, made{method: "cosreg", seed: seed, ppl: 10.1 + float64(seed)/10, wrong: 20,
				change: func(c *experiment.Config, r map[string]any) {
					c.Train.LearningRate = 0.01
					c.Objective.Set("gamma", 3)
					r["code"] = map[string]any{"commit": "fedcba9876543210", "dirty": true}
					r["data"] = map[string]any{"sha256": map[string]string{"test.de": "bb", "valid.de": "cc"}}
					r["updates"] = 90
				}})
		}
	}
	return folder
}

// compared runs the command and returns what it printed.
func compared(t *testing.T, args ...string) (out, log string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	f, err := parse(args, &stdout)
	if err == nil {
		f.Threads = 1
		err = run(f, &stdout, &stderr)
	}
	return stdout.String(), stderr.String(), err
}
