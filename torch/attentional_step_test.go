package torch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// stepper searches with an attentionalCase: hypotheses of each sentence side by side.
type stepper struct {
	torch.AttentionalStep
	d      torch.AttentionalDecoder
	memory torch.Tensor // [B,S,D]
	h, c   []torch.Tensor
}

func newStepper(c attentionalCase) *stepper {
	in := attentionalInputs(c, torch.Float32)
	s := &stepper{memory: in[1]}
	c.run(func(d torch.AttentionalDecoder, _, _ torch.Tensor, _ []int64, h, cells []torch.Tensor) torch.Tensor {
		s.d, s.h, s.c = d, h, cells
		return torch.Tensor{}
	}, in)
	s.PackedAttentional, s.Attention = s.d.Pack(torch.Pack), true
	var rows []int64
	for b := range c.rows {
		s.Starts = append(s.Starts, int32(len(rows)))
		s.Lengths = append(s.Lengths, int32(c.lengths[b]))
		for j := range c.lengths[b] {
			rows = append(rows, b*c.positions+j)
		}
	}
	real := in[1].Reshape(-1, c.width).IndexSelect(0, torch.FromInt64s(rows, torch.CPU, int64(len(rows))))
	s.Keys, s.Values = s.Source(real)
	return s
}

// repeated gives `beam` rows for each row of x.
func repeated(x torch.Tensor, beam int64) torch.Tensor {
	var index []int64
	for i := range x.Size(0) * beam {
		index = append(index, i/beam)
	}
	return x.IndexSelect(0, torch.FromInt64s(index, torch.CPU, int64(len(index))))
}

// TestAttentionalStepEqualsLoop: hypotheses that each read words of their own have the
// states that the loop gives for these, and attention is softmax over real words.
func TestAttentionalStepEqualsLoop(t *testing.T) {
	ofCPU(t)
	for _, c := range []attentionalCase{
		{layers: 1, steps: 3, rows: 1, positions: 1, words: 1, width: 1, lengths: []int64{1}},
		{layers: 2, steps: 4, rows: 5, positions: 9, words: 8, width: 33, lengths: []int64{9, 1, 4, 7, 2}},
		{layers: 3, steps: 2, rows: 3, positions: 5, words: 17, width: 64, lengths: []int64{4, 0, 3}},
		{layers: 2, steps: 2, rows: 130, positions: 3, words: 40, width: 128,
			lengths: slices.Repeat([]int64{3, 1}, 65)},
	} {
		t.Run(fmt.Sprintf("%d layers of %d", c.layers, c.width), func(t *testing.T) {
			torch.Test(t, func() { checkAttentionalSteps(t, c) })
		})
	}
}

func checkAttentionalSteps(t *testing.T, c attentionalCase) {
	t.Helper()
	const beam = 3
	s := newStepper(c)
	words := torch.NewStream(3, "words").Normal(0, 1, torch.Float32, torch.CPU, c.steps, c.rows*beam,
		c.words)
	var h, cells []torch.Tensor
	for i := range s.h {
		h, cells = append(h, repeated(s.h[i], beam)), append(cells, repeated(s.c[i], beam))
	}
	var lengths []int64
	for i := range c.rows * beam {
		lengths = append(lengths, c.lengths[i/beam])
	}
	want := s.d.RunReference(words, repeated(s.memory, beam), lengths, h, cells)
	state := s.Start(h, cells)
	for step := range c.steps {
		out, next, attention := s.Run(words.Narrow(0, step, 1).Reshape(-1, c.words), state)
		nearWithin(t, fmt.Sprintf("step %d", step), out, want.Narrow(0, step, 1), 5e-5)
		last := next.Narrow(1, int64(c.layers)*c.width, c.width)
		scores := repeated(s.memory,
			beam).MatMul(torch.Linear(last, s.d.Query, torch.Tensor{}).Reshape(-1, c.width, 1)).Float64s()
		longest := int64(slices.Max(s.Lengths))
		got := attention.Float64s()
		for r, length := range lengths {
			own := torch.FromFloat64s(scores[int64(r)*c.positions:][:length], torch.CPU, 1,
				length).Softmax(-1).Float64s()
			own = append(own, make([]float64, longest-length)...)
			nearWithin(t, "attention",
				torch.FromFloat64s(got[int64(r)*longest:][:longest], torch.CPU, longest),
				torch.FromFloat64s(own, torch.CPU, longest), 5e-5)
		}
		state = next
	}
}

// TestAttentionalStepReorders: a row of the state is all that a hypothesis carries, also
// when sentences are done, and threads do not matter.
func TestAttentionalStepReorders(t *testing.T) {
	ofCPU(t)
	defer torch.SetThreads(0)
	torch.Test(t, func() {
		c := attentionalCase{layers: 2, steps: 1, rows: 200, positions: 6, words: 30, width: 96,
			lengths: slices.Repeat([]int64{6, 2, 3, 5}, 50)}
		s := newStepper(c)
		draw := torch.NewStream(4, "words")
		first, second := draw.Normal(0, 1, torch.Float32, torch.CPU, 200, c.words),
			draw.Normal(0, 1, torch.Float32, torch.CPU, 200, c.words)
		torch.SetThreads(1)
		_, state, _ := s.Run(first, s.Start(s.h, s.c))
		all, _, _ := s.Run(second, state)
		torch.SetThreads(3)
		_, threaded, _ := s.Run(first, s.Start(s.h, s.c))
		near(t, "the state with three threads", threaded, state)

		// Sentences 7 and 2 stay, with two hypotheses each, one of which read another word.
		order := torch.FromInt64s([]int64{7, 7, 2, 2}, torch.CPU, 4)
		read := torch.FromInt64s([]int64{7, 50, 51, 2}, torch.CPU, 4)
		s.Starts, s.Lengths = []int32{s.Starts[7], s.Starts[2]}, []int32{s.Lengths[7], s.Lengths[2]}
		few, _, _ := s.Run(second.IndexSelect(0, read), state.IndexSelect(0, order))
		near(t, "sentence 7", few.Narrow(0, 0, 1), all.Narrow(0, 7, 1))
		near(t, "sentence 2", few.Narrow(0, 3, 1), all.Narrow(0, 2, 1))
	})
}

func TestAttentionalStepRefusesShapes(t *testing.T) {
	ofCPU(t)
	torch.Test(t, func() {
		c := attentionalCase{layers: 2, steps: 1, rows: 2, positions: 3, words: 4, width: 5, lengths: []int64{3, 2}}
		for _, test := range []struct {
			change func(s *stepper, words *torch.Tensor)
			says   string
		}{
			{func(s *stepper, _ *torch.Tensor) { s.Lengths = []int32{3, 3} },
				"rows 3 to 6 of the source do not exist: there are 5"},
			{func(s *stepper, _ *torch.Tensor) { s.Starts = s.Starts[:1] },
				"a first row and a length for each sentence"},
			{func(_ *stepper, words *torch.Tensor) { *words = torch.Zeros(torch.Float32, torch.CPU, 3, 4) },
				"3 hypotheses do not belong to 2 sentences"},
			{func(_ *stepper, words *torch.Tensor) { *words = torch.Zeros(torch.Float32, torch.CPU, 4, 4) },
				"the state must be a float32 tensor of shape [4, 25]"},
		} {
			s := newStepper(c)
			words := torch.Zeros(torch.Float32, torch.CPU, 2, 4)
			test.change(s, &words)
			err := torch.Try(func() error {
				s.Run(words, s.Start(s.h, s.c))
				return nil
			})
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("the error is %v, want %s", err, test.says)
			}
		}
	})
}
