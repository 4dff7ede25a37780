package models_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/torch"
)

// PyTorch counts the products of a program of plain operators as every network counts its own.
func TestOperations(t *testing.T) {
	var golden map[string][2]float64
	data, err := os.ReadFile("testdata/operations.json")
	if err == nil {
		err = json.Unmarshal(data, &golden)
	}
	if err != nil {
		t.Fatal(err)
	}
	torch.Test(t, func() {
		p, s := &torch.Params{}, torch.NewStream(1, "init")
		defer p.Free()
		source := models.Tokens{IDs: make([]int64, 4*7), Rows: 4, Width: 7}
		prev := models.Tokens{IDs: make([]int64, 4*5), Rows: 4, Width: 5}
		chunk := models.Chunk{IDs: make([]int64, 6*4), Time: 6, Columns: 4}
		c := transformer(2, 3, 12, 20, 3, 50, torch.Float32)
		m, err := models.NewTransformer(c, table{}, table{}, p, s, device)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Free()
		a, err := models.NewAttentional(models.Config{DType: torch.Float32, Settings: models.Settings{
			Width: 10, EncoderDecoderSettings: models.EncoderDecoderSettings{EncoderLayers: 2, DecoderLayers: 2},
			AttentionalSettings: models.AttentionalSettings{WordWidth: 6},
		}}, table{}, table{}, p, s, device)
		if err != nil {
			t.Fatal(err)
		}
		lstm, ofLSTM := newRecurrent(t, models.NewAWDLSTM, noise{}, torch.Float32)
		defer ofLSTM.Free()
		gru, ofGRU := newRecurrent(t, models.NewGRU, noise{}, torch.Float32)
		defer ofGRU.Free()
		qrnn, ofQRNN := newRecurrent(t, models.NewQRNN, noise{}, torch.Float32)
		defer ofQRNN.Free()
		xl, ofXL := newTransformerXL(t, 2, models.XLContext{Memory: 5}, torch.Float32)
		defer ofXL.Free()
		gpt, ofGPT := newGPT(t, models.LayerSettings{}, torch.Float32)
		defer ofGPT.Free()
		defer gpt.Free()
		for name, got := range map[string]torch.Operations{
			"transformer": m.Operations(source, prev), "attentional": a.Operations(source, prev),
			"awd-lstm": lstm.Operations(chunk), "gru": gru.Operations(chunk), "qrnn": qrnn.Operations(chunk),
			"gpt": gpt.Operations(tinyText()), "transformer-xl": xl.Operations(models.Chunk{IDs: make([]int64, 4*3), Time: 4, Columns: 3}),
		} {
			if want := golden[name]; got.Forward != want[0] || got.Backward != want[1] {
				t.Errorf("%s: %v forward and %v backward, and PyTorch counts %v", name, got.Forward, got.Backward, want)
			}
		}
	})
}
