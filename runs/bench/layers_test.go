package main

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/torch"
)

// The parameters are those of Kumar and Tsvetkov (2019), table 4. The network has one layer here: its others change neither column.
func TestLayerParameters(t *testing.T) {
	n := publishedTable4
	n.layers = 1
	var got []string
	for _, l := range outputLayers {
		torch.Test(t, func() {
			made, err := n.build(l)
			if err != nil {
				t.Fatal(err)
			}
			defer made.Free()
			c := l.parameters(made)
			got = append(got, strings.Join([]string{l.name, shortCount(c.InputParameters), shortCount(c.OutputParameters), shortCount(c.Biases)}, " "))
		})
	}
	want := []string{
		"word 25.6M 51.2M 50K", "bpe 8.192M 16.384M 16K", "l2 25.6M 307.2K 0.3K", "cosine 25.6M 307.2K 0.3K",
		"maxmargin 25.6M 307.2K 0.3K", "maxmargin-tied 153.6K 307.2K 0.812K", "vmf 25.6M 307.2K 0.3K", "vmf-tied 153.6K 307.2K 0.812K",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parameters of input and output, and biases (-want +got):\n%s", diff)
	}
}

var tinyTable4 = table4Size{tinyAttentional, 20, 3}

// Every output layer learns a batch by heart.
func TestLayersLearn(t *testing.T) {
	for _, l := range outputLayers {
		torch.Test(t, func() {
			defer torch.SetThreads(0)
			torch.SetThreads(1) // the matrices are too small to share
			r := &race{}
			defer r.close()
			built, err := tinyTable4.build(l)
			if err != nil {
				t.Fatal(err)
			}
			trainer := trainAttentional(r, built, nil)
			trainer.rate = 0.01
			if _, err := tinyTable4.speed(t.Context(), nil, trainer, 2, 0, 1); err != nil || trainer.batches[0].Rows != 2 || trainer.batches[0].Tokens != 2*attentionalLong {
				t.Fatalf("a batch of two is %+v, %v", trainer.batches[0], err)
			}
			batch := trainer.batches[0]
			loss := func() (mean float64) {
				torch.NoGrad(func() {
					states, targets := trainer.Forward(batch, nil)
					mean = trainer.Output.NLL(states, targets).Mean().Item()
				})
				return mean
			}
			before := loss()
			for range 10 {
				trainer.update(0)
			}
			if after := loss(); !(after < before) || math.IsInf(after, 0) {
				t.Errorf("%s: ten updates take the loss from %.4f to %.4f", l.name, before, after)
			}
		})
	}
}

// The suite measures, prints and writes; a batch for which there is no memory is left out.
func TestLayersSuite(t *testing.T) {
	sizes := sweepSizes
	defer func() { sweepSizes = sizes }()
	sweepSizes = []int{1, 3, 1 << 40}
	rows := []row{}
	for i, name := range []string{"layers/word", "layers/vmf-tied", "sweep/vmf-tied"} {
		l := outputLayers[[]int{0, 7, 7}[i]]
		measure := tinyTable4.cost
		if i == 2 {
			measure = tinyTable4.sweep
		}
		rows = append(rows, row{name, "sentences_per_s", func(b *bench) (*race, error) { return measure(b, l) }})
	}
	path := filepath.Join(t.TempDir(), "r.json")
	var out strings.Builder
	var err error
	torch.Test(t, func() {
		err = run(context.Background(), options{Pairs: 1, Threads: torch.Threads(), JSON: path, only: mustMatch(""), suite: suite{name: "layers", rows: rows}}, &out, io.Discard)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"output  tied  loss    input-layer parameters  output-layer parameters  ms/batch  samples/s\n",
		"word    no    CE      0.24K                   0.32K ", "emb     yes   NLLvMF  0.03K                   0.04K ",
		"Biases, which do not count above: word 40, vmf-tied 11. A batch: B=3 S=T=32 E=6 D=8 layers=2+2 V=40/20 M=5.\n",
		"samples/s of a batch of  vmf-tied\n1", "no memory\n",
	} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the table lacks %q:\n%s", part, out.String())
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var results []struct {
		Name, Unit string
		Ours       float64
		TimeRatio  *spread `json:"time_ratio"`
		Peer       *float64
		Layer      layerCost
	}
	if err := json.Unmarshal(data, &results); err != nil || len(results) != 3 {
		t.Fatalf("%v in\n%s", err, data)
	}
	first, sweep := results[0], results[2].Layer.Sweep
	if first.TimeRatio != nil || first.Peer != nil || first.Layer.InputParameters != 240 || math.Abs(first.Layer.MsPerBatch*first.Ours-3000) > 1e-6 {
		t.Errorf("the first row is %+v", first)
	}
	if len(sweep) != 3 || sweep[0].Rows != 1 || !(sweep[1].PerS > 0) || !sweep[2].LeftOut || results[2].Ours != max(sweep[0].PerS, sweep[1].PerS) {
		t.Errorf("the sweep is %+v", sweep)
	}
}
