package models_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// attentional is a small recurrent translator with PyTorch's parameters, batch and results.
type attentional struct {
	*models.Attentional
	params       *torch.Params
	output       torch.Tensor // the output matrix
	source, prev models.Tokens
	targets      torch.Tensor // of real words
	golden       map[string]torch.Tensor
}

func loadAttentional(t *testing.T, name string, dtype torch.DType, change func(*models.Settings)) *attentional {
	t.Helper()
	g, meta, err := torch.ReadSafetensors("testdata/attentional_"+name+".safetensors", device)
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Source_vocab, Target_vocab, Words, Width int64
		Encoder_layers, Decoder_layers           int
	}
	if err := json.Unmarshal([]byte(meta["config"]), &c); err != nil {
		t.Fatal(err)
	}
	p, s := &torch.Params{}, torch.NewStream(1, "init")
	target := pieces(p, "decoder.embed_tokens.weight", c.Target_vocab, c.Words, s, dtype)
	source := pieces(p, "encoder.embed_tokens.weight", c.Source_vocab, c.Words, s, dtype)
	pieces(p, "decoder.output_projection.weight", c.Target_vocab, c.Width, s, dtype)
	config := models.Config{DType: dtype, Settings: models.Settings{
		Width: int(c.Width),
		EncoderDecoderSettings: models.EncoderDecoderSettings{EncoderLayers: c.Encoder_layers,
			DecoderLayers: c.Decoder_layers},
		LayerSettings:       models.LayerSettings{MaxPositions: 50},
		AttentionalSettings: models.AttentionalSettings{WordWidth: int(c.Words), InitialRange: 0.1},
	}}
	change(&config.Settings)
	m, err := models.NewAttentional(config, source, target, p, s, device)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Load(part(g, "param/")); err != nil {
		t.Fatal(err)
	}
	a := &attentional{Attentional: m, params: p, output: p.Get("decoder.output_projection.weight"), golden: g}
	a.source, a.prev = tokens(g["batch/source"]), tokens(g["batch/prev"])
	targets := slices.DeleteFunc(g["batch/target"].Int64s(), func(id int64) bool { return id == tokenize.Pad })
	a.targets = torch.FromInt64s(targets, device, int64(len(targets)))
	return a
}

// part are the tensors whose names begin so, by the rest of their names.
func part(all map[string]torch.Tensor, prefix string) map[string]torch.Tensor {
	found := map[string]torch.Tensor{}
	for key, x := range all {
		if name, ok := strings.CutPrefix(key, prefix); ok {
			found[name] = x
		}
	}
	return found
}

// loss is the sum over words divided by sentences.
func (a *attentional) loss(s *torch.Stream) torch.Tensor {
	states := a.Forward(a.source, a.prev, s)
	loss, _ := torch.SoftmaxLoss(states.Hidden, a.output, torch.Tensor{}, a.targets,
		torch.SoftmaxLossOptions{Ignore: tokenize.Pad, Scale: 1 / float64(a.source.Rows)})
	return loss
}

// eachReading runs a test on both readings of the paper, in both precisions.
func eachReading(t *testing.T, f func(t *testing.T, a *attentional, limit float64)) {
	for _, name := range []string{"paper", "repository"} {
		for dtype, limit := range map[torch.DType]float64{torch.Float64: 1e-11, torch.Float32: 5e-5} {
			t.Run(name+"/"+dtype.String(), func(t *testing.T) {
				torch.Test(t, func() {
					a := loadAttentional(t, name, dtype, func(*models.Settings) {})
					defer a.params.Free()
					f(t, a, limit)
				})
			})
		}
	}
}

// TestAttentionalEqualsPyTorch: states and their places, loss, every gradient, and ten updates.
func TestAttentionalEqualsPyTorch(t *testing.T) {
	eachReading(t, func(t *testing.T, a *attentional, limit float64) {
		states := a.Forward(a.source, a.prev, nil)
		near(t, "attentional states", states.Hidden, a.golden["hidden"], limit)
		for n, time := range states.Time {
			place := states.Column[n]*int64(a.prev.Width) + time
			if a.prev.IDs[place] == tokenize.Pad || n > 0 && states.Column[n] == states.Column[n-1] &&
				time != states.Time[n-1]+1 {
				t.Errorf("row %d stands at time %d of column %d", n, time, states.Column[n])
			}
		}
		adam := torch.NewAdam(a.params.Tensors(), torch.AdamOptions{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8})
		defer adam.Free()
		losses, norms := a.golden["losses"].Float64s(), a.golden["norms"].Float64s()
		gradients := part(a.golden, "grad/")
		if len(gradients) != len(a.params.Names()) {
			t.Fatalf("there are %d golden gradients of %d parameters", len(gradients), len(a.params.Names()))
		}
		for i := range losses {
			step := torch.OpenScope()
			loss := a.loss(nil)
			near(t, fmt.Sprintf("loss %d", i), loss, torch.FromFloat64s(losses[i:i+1], device).Reshape(), 10*limit)
			loss.Backward()
			for name, want := range gradients {
				if i == 0 {
					near(t, "the gradient of "+name, a.params.Get(name).Grad(), want, limit)
				}
			}
			if norm := torch.ClipGrad(a.params.Tensors(), 1).Item(); math.Abs(norm-norms[i]) > 10*limit*norms[i] {
				t.Errorf("before update %d the gradient is %v long, want %v", i, norm, norms[i])
			}
			adam.Step(0.02)
			torch.ZeroGrad(a.params.Tensors())
			step.Close()
		}
		if limit < 1e-9 { // Adam turns the rounding of a gradient near 0 into a step
			for name, want := range part(a.golden, "trained/") {
				near(t, name, a.params.Get(name), want, 1e-8)
			}
		}
	})
}

// TestAttentionalAlone: neither padding on either side nor the order of sentences, nor which of them share a batch,
// changes a state.
func TestAttentionalAlone(t *testing.T) {
	eachReading(t, func(t *testing.T, a *attentional, limit float64) {
		all := a.Forward(a.source, a.prev, nil).Hidden
		row := int64(0)
		var backwards models.Tokens
		for b := range a.source.Rows {
			source, prev := trim(a.source, b), trim(a.prev, b)
			want := all.Narrow(0, row, int64(prev.Width))
			row += int64(prev.Width)
			near(t, "alone", a.Forward(source, prev, nil).Hidden, want, limit)
			near(t, "padded on the left", a.Forward(padLeft(source, 3), padLeft(prev, 2), nil).Hidden, want, limit)
			backwards.IDs = append(a.source.IDs[b*a.source.Width:(b+1)*a.source.Width:(b+1)*a.source.Width],
				backwards.IDs...)
		}
		backwards.Rows, backwards.Width = a.source.Rows, a.source.Width
		prev := trim(a.prev, 1)
		same := models.Tokens{IDs: slices.Repeat(prev.IDs, 4), Rows: 4, Width: prev.Width}
		one, other := a.Forward(a.source, same, nil).Hidden, a.Forward(backwards, same, nil).Hidden
		for b := range int64(4) {
			n := int64(prev.Width)
			near(t, "the other way round", other.Narrow(0, (3-b)*n, n), one.Narrow(0, b*n, n), limit)
		}
	})
}

// TestAttentionalDecodes: a step at a time, with attention as PyTorch has it, equals the whole prefix, on padded
// batches too.
func TestAttentionalDecodes(t *testing.T) {
	eachReading(t, func(t *testing.T, a *attentional, limit float64) {
		for name, decoder := range map[string]models.Decoder{"Decoder": a.Decoder(),
			"UnfusedDecoder": a.UnfusedDecoder()} {
			equalsFull(t, name, decoder, a.source,
				func(source, prev models.Tokens) torch.States { return a.Forward(source, prev, nil) }, limit)
		}
		for name, decoder := range map[string]models.Decoder{"Decoder": a.Decoder(),
			"UnfusedDecoder": a.UnfusedDecoder()} {
			a.attends(t, name, decoder, limit)
		}
	})
}

// attends compares the attention of each word with PyTorch's.
func (a *attentional) attends(t *testing.T, name string, decoder models.Decoder, limit float64) {
	t.Helper()
	defer decoder.Free()
	decoding := decoder.Start(a.source)
	defer decoding.Free()
	want := a.golden["attention"]
	for step := range a.prev.Width {
		words := make([]int64, a.prev.Rows)
		for b := range words {
			words[b] = a.prev.IDs[b*a.prev.Width+step]
		}
		_, attention := decoding.Step(words, true)
		for b, word := range words {
			if word != tokenize.Pad {
				near(t, fmt.Sprintf("%s: attention of word %d of sentence %d", name, step, b),
					attention.Narrow(0, int64(b), 1).Reshape(-1),
					want.Narrow(0, int64(b), 1).Narrow(1, int64(step), 1).Reshape(-1), limit)
			}
		}
	}
}

// TestAttentionalNoise: without noise training is evaluation; each noise changes what training sees, all of them
// together train, and none counts in evaluation.
func TestAttentionalNoise(t *testing.T) {
	noises := map[string]func(*models.Settings){
		"word_dropout":      func(s *models.Settings) { s.WordDropout = 0.4 },
		"vector_dropout":    func(s *models.Settings) { s.VectorDropout = 0.4 },
		"layer_dropout":     func(s *models.Settings) { s.LayerDropout = 0.4 },
		"recurrent_dropout": func(s *models.Settings) { s.RecurrentDropout = 0.4 },
		"dropout":           func(s *models.Settings) { s.Dropout = 0.4 },
		"input_noise":       func(s *models.Settings) { s.InputNoise = 0.4 },
		"":                  func(*models.Settings) {},
	}
	noises["all"] = func(s *models.Settings) {
		for name, change := range noises {
			if name != "all" {
				change(s)
			}
		}
	}
	updates, rest := 40, 0.7 // of the loss
	if device != torch.CPU { // the checked device is slow
		updates, rest = 8, 0.95
	}
	for name, change := range noises {
		torch.Test(t, func() {
			a := loadAttentional(t, "repository", torch.Float32, change)
			defer a.params.Free()
			stream := torch.NewStream(1, "dropout")
			near(t, name+": evaluation", a.Forward(a.source, a.prev, nil).Hidden, a.golden["hidden"], 5e-5)
			states := a.Forward(a.source, a.prev, stream)
			changed := states.Hidden.Sub(a.Forward(a.source, a.prev, nil).Hidden).Abs().Sum().Item() > 0
			if drawn := stream.Offset > 0; changed != (name != "") || drawn != changed {
				t.Errorf("%s: training differs from evaluation: %t; numbers are drawn: %t", name, changed, drawn)
			}
			if name == "dropout" {
				checkLocked(t, states)
			}
			adam := torch.NewAdam(a.params.Tensors(), torch.AdamOptions{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8})
			defer adam.Free()
			before := a.loss(nil).Item()
			for range updates {
				step := torch.OpenScope()
				a.loss(stream).Backward()
				adam.Step(0.01)
				torch.ZeroGrad(a.params.Tensors())
				step.Close()
			}
			if after := a.loss(nil).Item(); !(after < rest*before) {
				t.Errorf("%s: after %d updates the loss is %.3f and was %.3f", name, updates, after, before)
			}
		})
	}
}

// checkLocked: a sentence loses the same components at all times, and another one others.
func checkLocked(t *testing.T, states torch.States) {
	t.Helper()
	dropped := map[int64][]bool{} // by column
	zero := states.Hidden.EqualScalar(0).Bools()
	width := len(zero) / len(states.Column)
	for n, column := range states.Column {
		row := zero[n*width : (n+1)*width]
		if first, seen := dropped[column]; seen && !slices.Equal(first, row) {
			t.Errorf("sentence %d loses other components at time %d than at first", column, states.Time[n])
		}
		dropped[column] = row
	}
	if slices.Equal(dropped[0], dropped[2]) {
		t.Error("two sentences lose the same components")
	}
}

// TestAttentionalStart: weights start uniform in their range and have PyTorch's names; sizes that make no network are
// refused.
func TestAttentionalStart(t *testing.T) {
	torch.Test(t, func() {
		p, s := &torch.Params{}, torch.NewStream(1, "init")
		defer p.Free()
		config := models.Config{DType: torch.Float32, Settings: models.Settings{
			Width: 32, EncoderDecoderSettings: models.EncoderDecoderSettings{EncoderLayers: 2, DecoderLayers: 2},
			AttentionalSettings: models.AttentionalSettings{InitialRange: 0.3},
		}}
		if _, err := models.NewAttentional(config, nil, nil, p, s, device); err != nil {
			t.Fatal(err)
		}
		for name, shape := range map[string][]int64{
			"encoder.weight_ih_l0": {64, 32}, "encoder.weight_hh_l1_reverse": {64, 16}, "encoder.bias_hh_l0": {64},
			"decoder.0.weight_ih": {128, 64}, "decoder.1.weight_ih": {128, 32}, "decoder.1.bias_ih": {128},
			"query.weight": {32, 32}, "mix.weight": {32, 64},
		} {
			if x := p.Get(name); !x.Defined() || !slices.Equal(x.Shape(), shape) {
				t.Errorf("%s is not there, or not of shape %v", name, shape)
			}
		}
		for _, name := range p.Names() {
			x := p.Get(name).Detach()
			largest, n := x.Abs().Reshape(-1).MaxDim(0, false).Item(), float64(x.Count())
			if largest > 0.3 || largest < 0.28 || math.Abs(x.Mean().Item()) > 4*0.3/math.Sqrt(3*n) {
				t.Errorf("%s starts with a largest element of %g and a mean of %g", name, largest, x.Mean().Item())
			}
		}
		for part, change := range map[string]func(*models.Settings){
			"model.width = 31 is odd": func(s *models.Settings) { s.Width = 31 },
			"model.encoder_layers = 2 and model.decoder_layers = 1 do not " +
				"fit": func(s *models.Settings) { s.DecoderLayers = 1 },
			"the same number of layers or a single " +
				"one": func(s *models.Settings) { s.DecoderLayers = 3 },
		} {
			other := config
			change(&other.Settings)
			if _, err := models.NewAttentional(other, nil, nil, p, s, device); err == nil ||
				!strings.Contains(err.Error(), part) {
				t.Errorf("%v, want %q", err, part)
			}
		}
	})
}
