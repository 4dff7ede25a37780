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

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/torch"
)

var tinyNetwork = network{40, 8, 16, 2, 1, 64, fullBatches, false, false}

// Nothing races a GPU against CTranslate2 on the CPU.
func TestCTranslate2OnTheCPU(t *testing.T) {
	for _, work := range []func(b *bench, r *race) error{
		tinyNetwork.translating("float32", 2), tinyNetwork.translatingAlone("int8", 40),
	} {
		err := work(&bench{}, &race{device: "cuda:0"})
		if err == nil || !strings.Contains(err.Error(), "CTranslate2 is raced on the CPU alone") {
			t.Errorf("it says %v", err)
		}
	}
}

func TestTrainerLearns(t *testing.T) {
	for _, method := range []string{"mle", "spectrum"} {
		torch.Test(t, func() {
			batches, err := fullBatches(nil, tinyNetwork)
			if err != nil {
				t.Fatal(err)
			}
			r := &race{}
			defer r.close()
			trainer, err := tinyNetwork.model(method).trainer(r, batches)
			if err != nil {
				t.Fatal(err)
			}
			trainer.dropout = nil
			learns(t, method, trainer, math.Log(40), 1.5)
		})
	}
}

// TestMethodsRaceMaximumLikelihood drives rows of methods on a tiny network, and
// checks that a row's settings reach its method alone.
func TestMethodsRaceMaximumLikelihood(t *testing.T) {
	torch.Test(t, func() {
		b := fake(t, context.Background(), "")
		b.Pairs = 2
		got, err := b.measure(row{"x", "s", tinyNetwork.method("spectrum", withNorms...)})
		if err != nil || got.TimeRatio == nil || got.MemoryRatio == nil || got.Ours <= 0 || got.Peer == nil ||
			*got.Peer <= 0 {
			t.Errorf("the race gives %+v, %v", got, err)
		}
	})
	if o := spectrumOf(tinyNetwork.model("spectrum", withNorms...).settings); o.LambdaUSpectral == 0 ||
		o.LambdaVSpectral == 0 {
		t.Errorf("the settings are %+v", o)
	}
	if o := spectrumOf(tinyNetwork.model("spectrum").settings); o.LambdaUSpectral != 0 || o.LambdaU == 0 {
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

// asJSON is what a peer reads of a value.
func asJSON(t *testing.T, value, read any) {
	t.Helper()
	data, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(data, read)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestEqualBatches checks that the peer reads the batches that we train on.
func TestEqualBatches(t *testing.T) {
	batches, err := fullBatches(nil, tinyNetwork)
	if err != nil {
		t.Fatal(err)
	}
	var read []struct{ Source, Prev, Target [][]int64 }
	asJSON(t, readable(batches), &read)
	if len(read) != len(batches) {
		t.Fatalf("%d batches are read, %d were written", len(read), len(batches))
	}
	for i, batch := range batches {
		if len(read[i].Source) != batch.Rows || len(read[i].Prev[0]) != batch.T ||
			read[i].Prev[1][2] != batch.Prev[batch.T+2] ||
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
	if err := b.sameTranslations(ours, peer, false); err == nil ||
		!strings.Contains(err.Error(), "37 of them equal to our 40 of 80 words") {
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
	if err == nil || !strings.HasSuffix(err.Error(), "set APERTURE_DATA to the folder that holds multi30k") ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("the error is %v", err)
	}
}

// smallMulti30k is a folder with the first lines of Multi30k.
func smallMulti30k(t *testing.T) string {
	t.Helper()
	full := filepath.Dir(fixtures.Path(t, "multi30k/train.en"))
	small := t.TempDir()
	if err := os.Mkdir(filepath.Join(small, "multi30k"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"train.en", "train.de", "test_2016_flickr.en"} {
		data, err := os.ReadFile(filepath.Join(full, name))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(data), "\n")[:300]
		if err := os.WriteFile(filepath.Join(small, "multi30k", name), []byte(strings.Join(lines, "")),
			0o666); err != nil {
			t.Fatal(err)
		}
	}
	return small
}

// slow is a peer of text that takes 100 seconds, as it says.
const slow = `read config; echo '{"ready": true}'; while read step; do echo '{"seconds": 100}'; done`

// TestTextRaces drives our side of each row of text against a peer that answers at
// once, on the first lines of Multi30k.
func TestTextRaces(t *testing.T) {
	t.Setenv("APERTURE_DATA", smallMulti30k(t))
	b := fake(t, context.Background(), "")
	for _, program := range []string{"bpe_subword_nmt.py", "bpe_tokenizers.py", "moses_tokenizer.py"} {
		b.replace(t, program, slow)
	}
	b.Pairs = 2
	for _, row := range textRows {
		got, err := b.measure(row)
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		if got.Name != row.name || got.Unit != row.unit || got.TimeRatio.Median < 1 || got.MemoryRatio != nil ||
			got.Ours <= 0 {
			t.Errorf("%s: %+v, %+v", row.name, got, got.TimeRatio)
		}
	}
}

func spectrumOf(s translation.Settings) objectives.FactorSettings {
	return objectives.Of[objectives.FactorSettings](s.Objective)
}
