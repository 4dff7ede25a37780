package main

import (
	"context"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/testdata"
	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/torch"
)

var tinyNetwork = network{"tiny", 40, 8, 16, 2, 1, 64, fullBatches}

func TestTrainerLearns(t *testing.T) {
	for _, method := range []string{"mle", "spectrum"} {
		torch.Test(t, func() {
			batches, err := fullBatches(nil, tinyNetwork)
			if err != nil {
				t.Fatal(err)
			}
			r := &race{}
			defer r.close()
			trainer, err := newTrainer(r, tinyNetwork, batches, method)
			if err != nil {
				t.Fatal(err)
			}
			trainer.dropout = nil
			learns(t, method, trainer, trainer.Params, math.Log(40), 1.5)
		})
	}
}

// TestMethodsRaceMaximumLikelihood drives rows of methods on a tiny network, and
// checks that a row's settings reach its method alone.
func TestMethodsRaceMaximumLikelihood(t *testing.T) {
	torch.Test(t, func() {
		b := fake(t, context.Background(), "")
		r, err := b.method("spectrum", tinyNetwork, spectralNorms)
		if err != nil {
			t.Fatal(err)
		}
		defer r.close()
		got, err := r.run(b.ctx, 2)
		if err != nil || got.TimeRatio == nil || got.MemoryRatio == nil || got.Ours <= 0 || got.Peer == nil || *got.Peer <= 0 {
			t.Errorf("the race gives %+v, %v", got, err)
		}
	})
	if o := spectrumOf(tinyNetwork.config("spectrum", spectralNorms)); o.LambdaUSpectral == 0 || o.LambdaVSpectral == 0 {
		t.Errorf("the settings are %+v", o)
	}
	if o := spectrumOf(tinyNetwork.config("spectrum")); o.LambdaUSpectral != 0 || o.LambdaU == 0 {
		t.Errorf("the settings are %+v", o)
	}
}

func TestFullBatches(t *testing.T) {
	batches, err := fullBatches(nil, baseNetwork)
	if err != nil || len(batches) != differentBatches {
		t.Fatalf("%d batches, %v", len(batches), err)
	}
	for _, batch := range batches {
		if pads, positions := batch.Padding(); pads != 0 || positions != 2*baseNetwork.tokens {
			t.Errorf("%d of %d positions are padding", pads, positions)
		}
	}
}

// TestEqualBatches checks that the peer reads the batches that we train on.
func TestEqualBatches(t *testing.T) {
	b := fake(t, context.Background(), "")
	batches, err := fullBatches(b, tinyNetwork)
	if err != nil {
		t.Fatal(err)
	}
	path, err := b.writeBatches("tiny", batches)
	read := written[[]struct{ Source, Prev, Target [][]int64 }](t, path, err)
	if len(read) != len(batches) {
		t.Fatalf("%d batches are read, %d were written", len(read), len(batches))
	}
	for i, batch := range batches {
		if len(read[i].Source) != batch.Rows || len(read[i].Prev[0]) != batch.T || read[i].Prev[1][2] != batch.Prev[batch.T+2] ||
			read[i].Target[1][1] != batch.Prev[batch.T+2] || read[i].Source[1][3] != batch.Source[batch.S+3] {
			t.Errorf("batch %d is not what was written", i)
		}
	}
}

func TestSameTranslations(t *testing.T) {
	b := &bench{log: io.Discard}
	ours := make([][]decode.Hypothesis, 40)
	peer := make([][]int32, 40)
	for i := range ours {
		ours[i] = []decode.Hypothesis{{IDs: []int32{5, int32(i)}}}
		peer[i] = []int32{5, int32(i)}
	}
	peer[3] = []int32{6}
	if err := b.sameTranslations(ours, peer, false); err != nil {
		t.Error(err)
	}
	peer[4], peer[5] = nil, nil
	if err := b.sameTranslations(ours, peer, false); err == nil || !strings.Contains(err.Error(), "37 of them equal to our 40 of 80 words") {
		t.Errorf("three differences give %v", err)
	}
	if err := b.sameTranslations(ours, peer, true); err != nil {
		t.Errorf("a twentieth of the words is missing, and rough arithmetic may: %v", err)
	}
	clear(peer[:10])
	if err := b.sameTranslations(ours, peer, true); err == nil {
		t.Error("a quarter of the words is missing")
	}
}

func TestMissingCorpus(t *testing.T) {
	t.Setenv("APERTURE_DATA", t.TempDir())
	_, err := fake(t, context.Background(), "").multi30k()
	if err == nil || !strings.HasSuffix(err.Error(), "set APERTURE_DATA to the folder that holds multi30k") || strings.Contains(err.Error(), "\n") {
		t.Errorf("the error is %v", err)
	}
}

// TestTextRaces drives our side of each row of text against a peer that answers at
// once, on the first lines of Multi30k.
func TestTextRaces(t *testing.T) {
	full := filepath.Dir(testdata.Path(t, "multi30k/train.en"))
	small := t.TempDir()
	if err := os.Mkdir(filepath.Join(small, "multi30k"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"train.en", "train.de"} {
		data, err := os.ReadFile(filepath.Join(full, name))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(data), "\n")[:300]
		if err := os.WriteFile(filepath.Join(small, "multi30k", name), []byte(strings.Join(lines, "")), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("APERTURE_DATA", small)
	b := fake(t, context.Background(), "")
	for _, program := range []string{"bpe_subword_nmt.py", "bpe_tokenizers.py", "moses_tokenizer.py"} {
		if err := os.WriteFile(filepath.Join(b.folder, "peer", program), []byte("while read go; do echo 100; done"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	b.Pairs = 2
	for _, row := range textRows {
		got, err := b.measure(row)
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		if got.Name != row.name || got.Unit != row.unit || got.TimeRatio.Median < 1 || got.MemoryRatio != nil || got.Ours <= 0 {
			t.Errorf("%s: %+v, %+v", row.name, got, got.TimeRatio)
		}
	}
}

func spectrumOf(s translation.Settings) objectives.SpectrumSettings {
	return objectives.Of[objectives.SpectrumSettings](s.Objective)
}
