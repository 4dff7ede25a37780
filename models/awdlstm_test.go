package models_test

import (
	"math"
	"testing"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/torch"
)

// noise is what training does to a recurrent model.
type noise struct {
	DropoutEmbedding, DropoutInput, DropoutHidden, Dropout, WeightDrop, InputNoise, AR, TAR float64
}

func (n noise) of(c *models.Config) {
	c.DropoutEmbedding, c.DropoutInput, c.DropoutHidden, c.Dropout, c.WeightDrop = n.DropoutEmbedding, n.DropoutInput,
		n.DropoutHidden, n.Dropout, n.WeightDrop
	c.InputNoise, c.AR, c.TAR = n.InputNoise, n.AR, n.TAR
}

var allNoise = noise{DropoutEmbedding: 0.3, DropoutInput: 0.4, DropoutHidden: 0.25, Dropout: 0.4, WeightDrop: 0.5,
	InputNoise: 0.1, AR: 2, TAR: 1}

// recurrent is a configuration without noise.
func recurrent(width, hidden, last, layers int, vocabulary int64, dtype torch.DType) models.Config {
	return models.Config{
		Settings: models.Settings{Width: width, Layers: layers,
			RecurrentSettings: models.RecurrentSettings{Hidden: hidden, LastHidden: last}},
		Vocabulary: vocabulary, DType: dtype,
	}
}

// newRecurrent builds a small model whose sizes all differ.
func newRecurrent[M any](t *testing.T, build func(models.Config, models.Embedder, *torch.Params, *torch.Stream,
	torch.Device) (M, error), n noise, dtype torch.DType) (M, *torch.Params) {
	t.Helper()
	p, s := &torch.Params{}, torch.NewStream(1, "init")
	c := recurrent(5, 9, 0, 3, textWords, dtype)
	n.of(&c)
	m, err := build(c, words(p, "encoder.weight", textWords, 5, s, dtype), p, s, device)
	if err != nil {
		t.Fatal(err)
	}
	return m, p
}

func TestAWDLSTMParameterCounts(t *testing.T) {
	for _, c := range []struct {
		name       string
		vocabulary int64
		width, h   int
		last       int
		beside     int64 // parameters of the output layer beside the tied matrix
		want       int64
	}{
		{"Penn Treebank", 10000, 400, 1150, 0, 10000, 24221600},
		{"WikiText-2", 33278, 400, 1150, 0, 33278, 33556078},
		{"mixture on Penn Treebank", 10000, 280, 960, 620, 15*620 + 15*280*620 + 15*280 + 10000, 21500620},
		{"mixture on WikiText-2", 33278, 300, 1150, 650, 15*650 + 15*300*650 + 15*300 + 33278, 34909528},
	} {
		torch.Test(t, func() {
			p := &torch.Params{}
			defer p.Free()
			_, err := models.NewAWDLSTM(recurrent(c.width, c.h, c.last, 3, c.vocabulary, torch.Float32),
				nil, p, torch.NewStream(1, "init"), device)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Count() + c.vocabulary*int64(c.width) + c.beside; got != c.want {
				t.Errorf("%s: %d parameters, want %d", c.name, got, c.want)
			}
		})
	}
}

// TestAWDLSTMWithoutNoise: training with all rates at 0 is evaluation, and the
// weights' drop rate means nothing there.
func TestAWDLSTMWithoutNoise(t *testing.T) {
	torch.Test(t, func() {
		m, p := newRecurrent(t, models.NewAWDLSTM, noise{}, torch.Float64)
		defer p.Free()
		stream := torch.NewStream(1, "dropout")
		train, _ := m.Forward(tinyText(), nil, stream)
		allNoise.of(&m.Config)
		eval, _ := m.Forward(tinyText(), nil, nil)
		near(t, "states", train.Hidden, eval.Hidden, 0)
		near(t, "raw states", eval.Raw, eval.Hidden, 0)
		if len(train.Terms)+len(eval.Terms) > 0 {
			t.Errorf("terms %v and %v without AR, TAR or training", train.Terms, eval.Terms)
		}
	})
}

// TestAWDLSTMCarriesItsState: two chunks give what one long one does, another
// text in between changes nothing, and no gradient flows back.
func TestAWDLSTMCarriesItsState(t *testing.T) {
	torch.Test(t, func() {
		m, p := newRecurrent(t, models.NewAWDLSTM, noise{}, torch.Float64)
		defer p.Free()
		x := tinyText()
		whole, end := m.Forward(x, nil, nil)
		first, carried := m.Forward(steps(x, 0, 3), nil, nil)
		m.Forward(models.Chunk{IDs: []int64{1, 2}, Time: 2, Columns: 1}, nil, nil)
		second, last := m.Forward(steps(x, 3, 7), carried, nil)
		near(t, "states", torch.Cat([]torch.Tensor{first.Hidden, second.Hidden}, 0), whole.Hidden, 1e-12)
		for i := range end {
			near(t, "carried state", last[i], end[i], 1e-12)
			if last[i].RequiresGrad() {
				t.Errorf("carried tensor %d has a history", i)
			}
		}
	})
}

// TestWeightDropMovesLaterSteps: from a state of zeros the recurrent matrix does
// not matter at the first step.
func TestWeightDropMovesLaterSteps(t *testing.T) {
	torch.Test(t, func() {
		m, p := newRecurrent(t, models.NewAWDLSTM, noise{WeightDrop: 0.5}, torch.Float64)
		defer p.Free()
		x := tinyText()
		one := models.Chunk{IDs: x.IDs[:x.Columns], Time: 1, Columns: x.Columns}
		stream := torch.NewStream(1, "dropout")
		a, _ := m.Forward(one, nil, stream)
		b, _ := m.Forward(one, nil, stream)
		near(t, "first step", a.Hidden, b.Hidden, 0)
		c, _ := m.Forward(x, nil, stream)
		d, _ := m.Forward(x, nil, stream)
		n := int64(x.Columns)
		near(t, "first step of many", c.Hidden.Narrow(0, 0, n), d.Hidden.Narrow(0, 0, n), 0)
		if c.Hidden.Narrow(0, n, n).Sub(d.Hidden.Narrow(0, n, n)).Abs().Sum().Item() == 0 {
			t.Error("two masks give the same second step")
		}
	})
}

// TestLockedDropoutIsLocked: the ratio of dropped to raw output is one of 0 and
// 1/(1-p), the same at each step of a column, and differs between columns.
func TestLockedDropoutIsLocked(t *testing.T) {
	torch.Test(t, func() {
		m, p := newRecurrent(t, models.NewAWDLSTM, noise{Dropout: 0.4}, torch.Float64)
		defer p.Free()
		x := tinyText()
		states, _ := m.Forward(x, nil, torch.NewStream(3, "dropout"))
		ratio := states.Hidden.Div(states.Raw).Float64s()
		row := x.Columns * m.Width
		differs := false
		for i, r := range ratio {
			if math.Abs(r-ratio[i%row]) > 1e-12 || r != 0 && math.Abs(r-1/0.6) > 1e-12 {
				t.Fatalf("the mask of element %d is %v, at the first step %v", i, r, ratio[i%row])
			}
			differs = differs || r != ratio[i%m.Width]
		}
		if !differs {
			t.Error("all columns have one mask")
		}
	})
}

// TestEmbeddingDropoutDropsWords: every occurrence of a word is dropped, or none.
// The first step shows it, since there the state is a function of the word alone.
func TestEmbeddingDropoutDropsWords(t *testing.T) {
	torch.Test(t, func() {
		const p = 0.3
		m, params := newRecurrent(t, models.NewAWDLSTM, noise{DropoutEmbedding: p}, torch.Float64)
		defer params.Free()
		// One step: each word twice, in columns far apart.
		x := models.Chunk{Time: 1, Columns: 2 * textWords}
		for i := range x.Columns {
			x.IDs = append(x.IDs, int64(i%textWords))
		}
		got, _ := m.Forward(x, nil, torch.NewStream(5, "dropout"))
		table := params.Get("encoder.weight")
		candidates := func(factor float64) torch.Tensor {
			before := table.Clone()
			table.Assign(table.MulScalar(factor))
			out, _ := m.Forward(x, nil, nil)
			table.Assign(before)
			return out.Hidden
		}
		zero, kept := candidates(0).Float64s(), candidates(1/(1-p)).Float64s()
		h := got.Hidden.Float64s()
		dropped := map[int64]int{}
		for c, id := range x.IDs {
			switch at := c * m.Width; {
			case math.Abs(h[at]-zero[at]) < 1e-12:
				dropped[id]++
			case math.Abs(h[at]-kept[at]) > 1e-12:
				t.Errorf("column %d is neither dropped nor scaled by 1/(1-p)", c)
			}
		}
		for id, n := range dropped {
			if n != 2 {
				t.Errorf("word %d is dropped at one of two places", id)
			}
		}
		if len(dropped) == 0 || len(dropped) == textWords {
			t.Errorf("%d of %d words are dropped", len(dropped), textWords)
		}
	})
}

// TestActivationTerms recomputes AR and TAR from the states.
func TestActivationTerms(t *testing.T) {
	torch.Test(t, func() {
		m, p := newRecurrent(t, models.NewAWDLSTM, allNoise, torch.Float64)
		defer p.Free()
		x := tinyText()
		states, _ := m.Forward(x, nil, torch.NewStream(1, "dropout"))
		h, raw := states.Hidden.Float64s(), states.Raw.Float64s()
		row := x.Columns * m.Width
		ar, tar := 0.0, 0.0
		for i := range h {
			ar += h[i] * h[i] / float64(len(h))
			if i >= row {
				tar += (raw[i] - raw[i-row]) * (raw[i] - raw[i-row]) / float64(len(h)-row)
			}
		}
		if len(states.Terms) != 2 || states.Terms[0].Weight != 2 || states.Terms[1].Weight != 1 {
			t.Fatalf("the terms are %v", states.Terms)
		}
		for i, want := range []float64{ar, tar} {
			if got := states.Terms[i].Value.Item(); math.Abs(got-want) > 1e-12 {
				t.Errorf("%s is %v, want %v", states.Terms[i].Name, got, want)
			}
		}
		one, _ := m.Forward(steps(x, 0, 1), nil, torch.NewStream(1, "dropout"))
		if len(one.Terms) != 1 {
			t.Errorf("a chunk of one step has the terms %v", one.Terms)
		}
		none, carried := m.Forward(models.Chunk{Columns: 3}, nil, torch.NewStream(1, "dropout"))
		if none.Hidden.Size(0) != 0 || len(none.Terms) != 0 || len(carried) != 6 {
			t.Errorf("an empty chunk gives %d rows, %d terms and %d tensors", none.Hidden.Size(0), len(none.Terms),
				len(carried))
		}
	})
}

func TestAWDLSTMTrains(t *testing.T) {
	torch.Test(t, func() {
		m, p := newRecurrent(t, models.NewAWDLSTM, allNoise, torch.Float32)
		defer p.Free()
		trains(t, m, p)
	})
}
