package models_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/torch"
)

// TestInitialWeights: the largest of the numbers that are drawn uniformly lies just below their bound, and those that
// are drawn normally have their deviation. Fairseq's mixture: Glorot's bound for attention, divided by the root of 2
// for q, k and v, and PyTorch's default for the rest; the recurrent networks have the bounds of their programs.
func TestInitialWeights(t *testing.T) {
	torch.Test(t, func() {
		translator := func(initialisation string) func(*torch.Params) {
			return func(p *torch.Params) {
				s := torch.NewStream(1, "init")
				e := pieces(p, "embed", 9, 64, s, torch.Float32)
				c := models.Config{DType: torch.Float32, Settings: models.Settings{
					Width: 64, AttentionSettings: models.AttentionSettings{Heads: 4, FFNWidth: 128},
					EncoderDecoderSettings: models.EncoderDecoderSettings{EncoderLayers: 1, DecoderLayers: 1},
					LayerSettings:          models.LayerSettings{MaxPositions: 50, Positions: "learned"},
				}}
				c.Initialisation = initialisation
				m, err := models.NewTransformer(c, e, e, p, s, device)
				if err != nil {
					t.Fatal(err)
				}
				m.Free()
			}
		}
		glorot := func(in, out float64) float64 { return math.Sqrt(6 / (in + out)) }
		for what, c := range map[string]struct {
			make       func(p *torch.Params)
			bounds     map[string]float64
			deviations map[string]float64
		}{
			"fairseq": {translator("fairseq"), map[string]float64{
				"encoder.layers.0.self_attn.q_proj.weight":      glorot(64, 64) / math.Sqrt2,
				"decoder.layers.0.self_attn.k_proj.weight":      glorot(64, 64) / math.Sqrt2,
				"decoder.layers.0.encoder_attn.v_proj.weight":   glorot(64, 64) / math.Sqrt2,
				"decoder.layers.0.encoder_attn.out_proj.weight": glorot(64, 64),
				"decoder.layers.0.encoder_attn.out_proj.bias":   0,
				"encoder.layers.0.self_attn.k_proj.bias":        1.0 / 8,
				"encoder.layers.0.fc1.weight":                   1.0 / 8,
				"encoder.layers.0.fc2.weight":                   1 / math.Sqrt(128),
				"encoder.layers.0.fc2.bias":                     1 / math.Sqrt(128),
			}, map[string]float64{"decoder.embed_positions.weight": 1.0 / 8}},
			"glorot": {translator("glorot"), map[string]float64{
				"encoder.layers.0.self_attn.q_proj.weight": glorot(64, 64), "encoder.layers.0.self_attn.q_proj.bias": 0,
				"decoder.layers.0.fc1.weight": glorot(64, 128), "decoder.layers.0.fc2.weight": glorot(64, 128),
				"decoder.layers.0.fc1.bias": 0,
			}, nil},
			"awd-lstm": {func(p *torch.Params) { start(t, models.NewAWDLSTM, p) }, map[string]float64{
				"rnns.0.module.weight_hh_l0_raw": 1 / math.Sqrt(90), "rnns.0.module.bias_hh_l0": 1 / math.Sqrt(90),
				"rnns.1.module.weight_ih_l0": 1 / math.Sqrt(90), "rnns.2.module.weight_hh_l0_raw": 1 / math.Sqrt(50),
			}, nil},
			"gru": {func(p *torch.Params) { start(t, models.NewGRU, p) }, map[string]float64{
				"rnns.0.module.weight_ih_l0": 1 / math.Sqrt(90), "rnns.2.module.weight_ih_l0": 1 / math.Sqrt(50),
				"rnns.2.module.weight_hh_l0_raw": 1 / math.Sqrt(50), "rnns.0.module.bias_ih_l0": 1 / math.Sqrt(90),
			}, nil},
			"qrnn": {func(p *torch.Params) { start(t, models.NewQRNN, p) }, map[string]float64{
				"rnns.0.linear.module.weight_raw": 1.0 / 10, "rnns.1.linear.module.weight_raw": 1 / math.Sqrt(90),
				"rnns.0.linear.module.bias": 1.0 / 10,
			}, nil},
			"transformer-xl": {func(p *torch.Params) {
				c := transformerXL(1, 60, 2, 100, models.XLContext{Memory: 5}, torch.Float32)
				m, err := models.NewTransformerXL(c, nil, p, torch.NewStream(1, "init"), device)
				if err != nil {
					t.Fatal(err)
				}
				m.Free()
			}, map[string]float64{"layers.0.pos_ff.CoreNet.0.bias": 0, "layers.0.pos_ff.layer_norm.bias": 0},
				map[string]float64{"layers.0.dec_attn.qkv_net.weight": 0.02, "layers.0.dec_attn.r_net.weight": 0.02,
					"layers.0.pos_ff.CoreNet.3.weight": 0.02}},
		} {
			p := &torch.Params{}
			c.make(p)
			numbers := func(name string) []float64 {
				x := p.Get(name)
				if !x.Defined() {
					t.Fatalf("%s has no parameter %s", what, name)
				}
				return x.Float64s()
			}
			for name, bound := range c.bounds {
				most := floats.Norm(numbers(name), math.Inf(1))
				if most > bound || most < 0.9*bound {
					t.Errorf("%s: the largest element of %s is %.4f, want just below %.4f", what, name, most, bound)
				}
			}
			for name, want := range c.deviations {
				if got := stat.PopStdDev(numbers(name), nil); math.Abs(got-want) > 0.05*want {
					t.Errorf("%s: %s has the deviation %.4f, want %.4f", what, name, got, want)
				}
			}
			p.Free()
		}
	})
}

// start makes a recurrent language model of three layers, of 90, 90 and 50 units.
func start[N any](t *testing.T, network func(models.Config, models.Embedder, *torch.Params, *torch.Stream,
	torch.Device) (N, error), p *torch.Params) {
	t.Helper()
	c := recurrent(50, 90, 50, 3, 11, torch.Float32)
	if _, err := network(c, nil, p, torch.NewStream(1, "init"), device); err != nil {
		t.Fatal(err)
	}
}
