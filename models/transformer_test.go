package models_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	numbers "github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// fixture is a small model with PyTorch's parameters, batch and results.
type fixture struct {
	model        *models.Transformer
	params       *torch.Params
	output       torch.Tensor // the output matrix
	source, prev models.Tokens
	targets      torch.Tensor // of real tokens
	golden       map[string]torch.Tensor
	metadata     map[string]string
}

// transformer is a configuration without noise.
func transformer(encoder, decoder, width, ffn, heads, positions int, dtype torch.DType) models.Config {
	return models.Config{DType: dtype, Settings: models.Settings{
		Width:                  width,
		AttentionSettings:      models.AttentionSettings{FFNWidth: ffn, Heads: heads},
		EncoderDecoderSettings: models.EncoderDecoderSettings{EncoderLayers: encoder, DecoderLayers: decoder},
		LayerSettings:          models.LayerSettings{MaxPositions: positions},
	}}
}

var fixtures = []string{"postnorm_tied", "prenorm_learned", "postnorm_separate"}

func load(t *testing.T, name string, dtype torch.DType) *fixture {
	t.Helper()
	g, meta, err := torch.ReadSafetensors("testdata/transformer_"+name+".safetensors", device)
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		D, FFN, Heads               int
		Encoder_layers              int
		Decoder_layers              int
		Source_vocab, Target_vocab  int64
		Max_positions               int
		Pre_norm, Learned_positions bool
		Tie                         string
	}
	if err := json.Unmarshal([]byte(meta["config"]), &c); err != nil {
		t.Fatal(err)
	}
	p, s := &torch.Params{}, torch.NewStream(1, "init")
	target := pieces(p, "decoder.embed_tokens.weight", c.Target_vocab, int64(c.D), s, dtype)
	source, output := target, "decoder.embed_tokens.weight"
	if c.Tie != "all" {
		source = pieces(p, "encoder.embed_tokens.weight", c.Source_vocab, int64(c.D), s, dtype)
	}
	if c.Tie == "none" {
		output = "decoder.output_projection.weight"
		pieces(p, output, c.Target_vocab, int64(c.D), s, dtype)
	}
	config := transformer(c.Encoder_layers, c.Decoder_layers, c.D, c.FFN, c.Heads, c.Max_positions, dtype)
	if config.PreNorm = c.Pre_norm; c.Learned_positions {
		config.Positions = "learned"
	}
	m, err := models.NewTransformer(config, source, target, p, s, device)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]torch.Tensor{}
	for key, x := range g {
		if name, found := strings.CutPrefix(key, "param/"); found {
			values[name] = x
		}
	}
	if err := p.Load(values); err != nil {
		t.Fatal(err)
	}
	f := &fixture{model: m, params: p, output: p.Get(output), golden: g, metadata: meta}
	f.source, f.prev = tokens(g["batch/source"]), tokens(g["batch/prev"])
	var targets []int64
	for _, id := range g["batch/target"].Int64s() {
		if id != tokenize.Pad {
			targets = append(targets, id)
		}
	}
	f.targets = torch.FromInt64s(targets, device, int64(len(targets)))
	return f
}

func (f *fixture) free() {
	f.model.Free()
	f.params.Free()
}

func tokens(x torch.Tensor) models.Tokens {
	return models.Tokens{IDs: x.Int64s(), Rows: int(x.Size(0)), Width: int(x.Size(1))}
}

// near fails unless got equals want within limit, relative to want's largest element above 1.
func near(t *testing.T, what string, got, want torch.Tensor, limit float64) {
	t.Helper()
	if fmt.Sprint(got.Shape()) != fmt.Sprint(want.Shape()) {
		t.Fatalf("%s has shape %v, want %v", what, got.Shape(), want.Shape())
	}
	numbers.Near(t, what, got.Float64s(), want.Float64s(), limit)
}

// eachFixture runs a test on every small model, in both precisions, fused where float32.
func eachFixture(t *testing.T, f func(t *testing.T, x *fixture, limit float64)) {
	for _, name := range fixtures {
		for dtype, limit := range map[torch.DType]float64{torch.Float64: 1e-9, torch.Float32: 5e-5} {
			t.Run(name+"/"+dtype.String(), func(t *testing.T) {
				torch.Test(t, func() {
					x := load(t, name, dtype)
					defer x.free()
					f(t, x, limit)
				})
			})
		}
	}
}

func (f *fixture) loss() torch.Tensor {
	states := f.model.Forward(f.source, f.prev, nil)
	loss, _ := torch.SoftmaxLoss(states.Hidden, f.output, torch.Tensor{}, f.targets, torch.SoftmaxLossOptions{
		Ignore: tokenize.Pad, Epsilon: 0.1, Scale: 1 / float64(f.targets.Size(0)),
	})
	return loss
}

// TestTransformerEqualsPyTorch: logits, attention, loss and every gradient.
func TestTransformerEqualsPyTorch(t *testing.T) {
	eachFixture(t, func(t *testing.T, f *fixture, limit float64) {
		states := f.model.ForwardWithAttention(f.source, f.prev, nil)
		near(t, "hidden states", states.Hidden, f.golden["hidden"], limit)
		near(t, "logits", torch.Linear(states.Hidden, f.output, torch.Tensor{}), f.golden["logits"], limit)
		places := make([]int64, len(states.Time))
		for n, time := range states.Time {
			places[n] = states.Column[n]*int64(f.prev.Width) + time
			if f.prev.IDs[places[n]] == tokenize.Pad || n > 0 && places[n] <= places[n-1] {
				t.Errorf("row %d stands at place %d, which is padding or comes before the row above", n, places[n])
			}
		}
		real := torch.FromInt64s(places, device, int64(len(places)))
		flat := func(x torch.Tensor) torch.Tensor { return x.Reshape(-1, x.Size(2)).IndexSelect(0, real) }
		near(t, "attention", flat(states.Attention), flat(f.golden["attention"]), limit)
		loss := f.loss()
		near(t, "loss", loss, f.golden["loss"], limit)
		loss.Backward()
		for _, name := range f.params.Names() {
			want, found := f.golden["grad/"+name]
			if !found {
				t.Fatalf("there is no golden gradient of %s", name)
			}
			near(t, "gradient of "+name, f.params.Get(name).Grad(), want, limit)
		}
	})
}

// TestTenTrainingSteps: the losses of ten Adam updates, and the parameters after them.
func TestTenTrainingSteps(t *testing.T) {
	for _, name := range fixtures {
		t.Run(name, func(t *testing.T) {
			torch.Test(t, func() {
				f := load(t, name, torch.Float64)
				defer f.free()
				adam := torch.NewAdam(f.params.Tensors(), torch.AdamOptions{Beta1: 0.9, Beta2: 0.98, Epsilon: 1e-8})
				defer adam.Free()
				want := f.golden["losses"].Float64s()
				for i := range want {
					step := torch.OpenScope()
					loss := f.loss()
					if got := loss.Item(); math.Abs(got-want[i]) > 1e-9 {
						t.Fatalf("loss %d is %v, want %v", i, got, want[i])
					}
					loss.Backward()
					adam.Step(1e-3)
					torch.ZeroGrad(f.params.Tensors())
					step.Close()
				}
				trained, _, err := torch.ReadSafetensors("testdata/transformer_"+name+"_trained.safetensors", device)
				if err != nil {
					t.Fatal(err)
				}
				for name, want := range trained {
					near(t, name, f.params.Get(name), want, 1e-9)
				}
			})
		})
	}
}

// TestSentenceAloneEqualsPadded: padding on either side changes no logit.
func TestSentenceAloneEqualsPadded(t *testing.T) {
	eachFixture(t, func(t *testing.T, f *fixture, limit float64) {
		all := f.model.Forward(f.source, f.prev, nil).Hidden
		row := int64(0)
		for b := range f.source.Rows {
			source, prev := trim(f.source, b), trim(f.prev, b)
			want := all.Narrow(0, row, int64(prev.Width))
			row += int64(prev.Width)
			near(t, "alone", f.model.Forward(source, prev, nil).Hidden, want, limit)
			near(t, "padded on the left", f.model.Forward(padLeft(source, 3), padLeft(prev, 2), nil).Hidden, want,
				limit)
		}
	})
}

func trim(x models.Tokens, row int) models.Tokens {
	ids := x.IDs[row*x.Width : (row+1)*x.Width]
	n := len(ids)
	for n > 0 && ids[n-1] == tokenize.Pad {
		n--
	}
	return models.Tokens{IDs: ids[:n], Rows: 1, Width: n}
}

func padLeft(x models.Tokens, n int) models.Tokens {
	ids := make([]int64, n, n+len(x.IDs))
	for i := range ids {
		ids[i] = tokenize.Pad
	}
	return models.Tokens{IDs: append(ids, x.IDs...), Rows: 1, Width: x.Width + n}
}

// TestFutureIsUnseen: changing a later target word leaves earlier states as they are.
func TestFutureIsUnseen(t *testing.T) {
	eachFixture(t, func(t *testing.T, f *fixture, _ float64) {
		prev := trim(f.prev, 1)
		source := trim(f.source, 1)
		before := f.model.Forward(source, prev, nil).Hidden
		changed := models.Tokens{IDs: append([]int64(nil), prev.IDs...), Rows: 1, Width: prev.Width}
		changed.IDs[5] = (changed.IDs[5]+1)%40 + 3
		after := f.model.Forward(source, changed, nil).Hidden
		near(t, "states before the change", after.Narrow(0, 0, 5), before.Narrow(0, 0, 5), 0)
		if after.Narrow(0, 5, 1).Sub(before.Narrow(0, 5, 1)).Abs().Sum().Item() == 0 {
			t.Error("the changed word did not change its own state")
		}
	})
}

// TestIncrementalDecodingEqualsFull: step by step with cached keys and values,
// with a beam, reordering and dropped sentences, equals full recomputation.
func TestIncrementalDecodingEqualsFull(t *testing.T) {
	eachFixture(t, func(t *testing.T, f *fixture, limit float64) {
		const beam = 2
		cache := f.model.Begin(f.model.Encode(f.source, nil), beam)
		defer cache.Free()
		histories := make([][]int64, f.source.Rows*beam)
		alive := make([]int, f.source.Rows)
		for b := range alive {
			alive[b] = b
		}
		word := int64(5)
		for step := range 6 {
			words := make([]int64, len(histories))
			for r := range histories {
				word = (word*7+3)%40 + 3
				words[r] = word
				if step == 0 {
					words[r] = 2
				}
				histories[r] = append(histories[r], words[r])
			}
			hidden, attention := f.model.Step(cache, words, true)
			for r, history := range histories {
				full := f.model.ForwardWithAttention(trim(f.source, alive[r/beam]),
					models.Tokens{IDs: history, Rows: 1, Width: len(history)}, nil)
				last := int64(len(history) - 1)
				near(t, fmt.Sprintf("step %d, hypothesis %d", step, r), hidden.Narrow(0, int64(r), 1),
					full.Hidden.Narrow(0, last, 1), limit)
				s := full.Attention.Size(2)
				near(t, "attention", attention.Narrow(0, int64(r), 1).Narrow(1, 0, s),
					full.Attention.Narrow(1, last, 1).Reshape(1, s), limit)
			}
			switch step {
			case 2: // both hypotheses of each sentence continue the second one
				order := make([]int64, len(histories))
				next := make([][]int64, len(histories))
				for r := range order {
					order[r] = int64(r/beam*beam + 1)
					next[r] = append([]int64(nil), histories[order[r]]...)
				}
				histories = next
				cache.Reorder(order, nil, device)
			case 3: // the second sentence is done
				var order, keep []int64
				var next [][]int64
				var left []int
				for b := range alive {
					if b == 1 {
						continue
					}
					keep, left = append(keep, int64(b)), append(left, alive[b])
					for g := range beam {
						order = append(order, int64(b*beam+g))
						next = append(next, histories[b*beam+g])
					}
				}
				histories, alive = next, left
				cache.Reorder(order, keep, device)
			}
		}
	})
}

// TestSinusoids checks the values stated for width 512 at the first token.
func TestSinusoids(t *testing.T) {
	settings := models.Settings{Width: 512, LayerSettings: models.LayerSettings{MaxPositions: 1}}
	row := settings.PositionTable()[2*512:]
	for i, want := range map[int]float64{0: 0.90929743, 1: 0.93651021, 256: -0.41614684, 257: -0.35064030,
		511: 0.99999998} {
		if math.Abs(row[i]-want) > 1e-8 {
			t.Errorf("element %d is %v, want %v", i, row[i], want)
		}
	}
}

// TestParameterCounts checks the totals of published configurations.
func TestParameterCounts(t *testing.T) {
	for _, c := range []struct {
		name                         string
		source, target, d, f, layers int64
		heads                        int
		tie                          string
		wantBody, wantTotal          int64
	}{
		{"iwslt", 8848, 6632, 512, 1024, 6, 4, "decoder", 31543296, 39469056},
		{"base", 37000, 37000, 512, 2048, 6, 8, "all", 44138496, 63082496},
		{"small", 9712, 9712, 256, 1024, 4, 4, "all", 7372800, 7372800 + 256*9712},
		{"tiny", 9712, 9712, 128, 256, 4, 4, "all", 1325056, 1325056 + 128*9712},
	} {
		t.Run(c.name, func(t *testing.T) {
			torch.Test(t, func() {
				p, s := &torch.Params{}, torch.NewStream(1, "init")
				defer p.Free()
				target := pieces(p, "decoder.embed_tokens.weight", c.target, c.d, s, torch.Float32)
				source := target
				if c.tie == "decoder" {
					source = pieces(p, "encoder.embed_tokens.weight", c.source, c.d, s, torch.Float32)
				}
				tables := p.Count()
				m, err := models.NewTransformer(transformer(int(c.layers), int(c.layers), int(c.d), int(c.f), c.heads,
					1024, torch.Float32), source, target, p, s, device)
				if err != nil {
					t.Fatal(err)
				}
				defer m.Free()
				if got := p.Count() - tables; got != c.wantBody {
					t.Errorf("the body has %d parameters, want %d", got, c.wantBody)
				}
				if got := p.Count(); got != c.wantTotal {
					t.Errorf("the model has %d parameters, want %d", got, c.wantTotal)
				}
			})
		})
	}
}

// TestInputNoise: training adds noise of that deviation to what the first layer
// reads, whatever the width; evaluation does not, and without it no draw is made.
func TestInputNoise(t *testing.T) {
	torch.Test(t, func() {
		p, s := &torch.Params{}, torch.NewStream(1, "init")
		defer p.Free()
		table := pieces(p, "embed_tokens.weight", 11, 64, s, torch.Float32)
		config := transformer(0, 0, 64, 4, 4, 50, torch.Float32)
		config.InputNoise = 0.3
		m, err := models.NewTransformer(config, table, table, p, s, device)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Free()
		ids := make([]int64, 80)
		for i := range ids {
			ids[i] = 2 + int64(i)%9
		}
		tokens := models.Tokens{IDs: ids, Rows: 4, Width: 20}
		plain := m.Encode(tokens, nil).Memory
		stream := torch.NewStream(1, "dropout")
		noise := m.Encode(tokens, stream).Memory.Sub(plain)
		n := float64(noise.Count())
		mean, deviation := noise.Mean().Item(), math.Sqrt(noise.Square().Mean().Item())
		if math.Abs(mean) > 4*0.3/math.Sqrt(n) || math.Abs(deviation/0.3-1) > 4/math.Sqrt(2*n) {
			t.Errorf("the noise has mean %v and deviation %v, want 0 and 0.3", mean, deviation)
		}
		draws := stream.Offset
		m.InputNoise = 0
		if quiet := m.Encode(tokens, stream).Memory.Sub(plain).Abs().Sum().Item(); quiet != 0 ||
			stream.Offset != draws {
			t.Errorf("without noise the input differs by %v, after %d draws", quiet, stream.Offset-draws)
		}
	})
}
