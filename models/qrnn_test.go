package models_test

import (
	"math"
	"testing"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/torch"
)

// TestQRNNParameterCounts: the totals follow from the published sizes; that of
// WikiText-103 includes three clusters of the adaptive softmax.
func TestQRNNParameterCounts(t *testing.T) {
	for _, c := range []struct {
		name       string
		vocabulary int64
		hidden     int
		clusters   int64
		want       int64
	}{{"Penn Treebank", 10000, 1550, 0, 24020150}, {"WikiText-103", 267735, 2500, 3, 153886638}} {
		torch.Test(t, func() {
			p := &torch.Params{}
			defer p.Free()
			_, err := models.NewQRNN(recurrent(400, c.hidden, 0, 4, c.vocabulary, torch.Float32), nil, p,
				torch.NewStream(1, "init"), device)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Count() + (c.vocabulary+c.clusters)*401; got != c.want {
				t.Errorf("%s: %d parameters, want %d", c.name, got, c.want)
			}
		})
	}
}

// TestQRNNCarriesItsState: chunks with state and last input give what one long
// chunk does, and no gradient flows back.
func TestQRNNCarriesItsState(t *testing.T) {
	for dtype, limit := range map[torch.DType]float64{torch.Float64: 1e-12, torch.Float32: 1e-5} {
		torch.Test(t, func() {
			m, p := newRecurrent(t, models.NewQRNN, noise{}, dtype)
			defer p.Free()
			x := tinyText()
			whole, end := m.Forward(x, nil, nil)
			first, carried := m.Forward(steps(x, 0, 3), nil, nil)
			second, last := m.Forward(steps(x, 3, 7), carried, nil)
			near(t, "states", torch.Cat([]torch.Tensor{first.Hidden, second.Hidden}, 0), whole.Hidden, limit)
			for i := range end {
				near(t, "carried state", last[i], end[i], limit)
				if last[i].RequiresGrad() {
					t.Errorf("carried tensor %d has a history", i)
				}
			}
			none, same := m.Forward(models.Chunk{Columns: x.Columns}, carried, nil)
			if none.Hidden.Size(0) != 0 {
				t.Errorf("an empty chunk gives %d rows", none.Hidden.Size(0))
			}
			for i := range same {
				near(t, "state after an empty chunk", same[i], carried[i], 0)
			}
		})
	}
}

// TestQRNNByHand computes a model of one layer from its equations.
func TestQRNNByHand(t *testing.T) {
	torch.Test(t, func() {
		p, s := &torch.Params{}, torch.NewStream(4, "init")
		defer p.Free()
		const d = 3
		vectors := words(p, "encoder.weight", textWords, d, s, torch.Float64)
		m, err := models.NewQRNN(recurrent(d, 9, 0, 1, textWords, torch.Float64), vectors, p, s, device)
		if err != nil {
			t.Fatal(err)
		}
		x := models.Chunk{IDs: []int64{3, 7, 3, 0}, Time: 4, Columns: 1}
		states, _ := m.Forward(x, nil, nil)
		e, w, bias := vectors.weight.Float64s(), p.Get("rnns.0.linear.module.weight_raw").Float64s(),
			p.Get("rnns.0.linear.module.bias").Float64s()
		sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
		c, want := make([]float64, d), []float64{}
		for step, id := range x.IDs {
			input := append([]float64(nil), e[id*d:(id+1)*d]...)
			if step > 0 {
				input = append(input, e[x.IDs[step-1]*d:(x.IDs[step-1]+1)*d]...)
			} else {
				input = append(input, make([]float64, d)...)
			}
			gate := func(row int) float64 {
				sum := bias[row]
				for k, v := range input {
					sum += w[row*2*d+k] * v
				}
				return sum
			}
			for j := range d {
				f := sigmoid(gate(d + j))
				c[j] = f*math.Tanh(gate(j)) + (1-f)*c[j]
				want = append(want, sigmoid(gate(2*d+j))*c[j])
			}
		}
		near(t, "states", states.Hidden, torch.FromFloat64s(want, device, 4, d), 1e-12)
	})
}

// TestQRNNNoise: training without noise is evaluation; with it two draws differ,
// every parameter gets a gradient and nothing is left behind.
func TestQRNNNoise(t *testing.T) {
	torch.Test(t, func() {
		m, p := newRecurrent(t, models.NewQRNN, noise{}, torch.Float32)
		defer p.Free()
		stream := torch.NewStream(1, "dropout")
		train, _ := m.Forward(tinyText(), nil, stream)
		noise{WeightDrop: 0.5}.of(&m.Config)
		eval, _ := m.Forward(tinyText(), nil, nil)
		near(t, "states", train.Hidden, eval.Hidden, 0)
		// Unlike an LSTM's recurrent matrix, the dropped one matters at the first step.
		a, _ := m.Forward(steps(tinyText(), 0, 1), nil, stream)
		b, _ := m.Forward(steps(tinyText(), 0, 1), nil, stream)
		if a.Hidden.Sub(b.Hidden).Abs().Sum().Item() == 0 {
			t.Error("two masks give the same first step")
		}
		allNoise.of(&m.Config)
		trains(t, m, p)
	})
}
