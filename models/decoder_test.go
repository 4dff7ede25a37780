package models_test

import (
	"fmt"
	"testing"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// TestDecodersEqualFull: both decoders equal full recomputation.
func TestDecodersEqualFull(t *testing.T) {
	defer torch.SetThreads(torch.Threads())
	torch.SetThreads(1) // the models are too small to share
	eachFixture(t, func(t *testing.T, f *fixture, limit float64) {
		full := func(source, prev models.Tokens) torch.States { return f.model.ForwardWithAttention(source, prev, nil) }
		for name, decoder := range map[string]models.Decoder{"Decoder": f.model.Decoder(),
			"UnfusedDecoder": f.model.UnfusedDecoder()} {
			equalsFull(t, name, decoder, f.source, full, limit)
		}
	})
}

// equalsFull decodes four sources, with one hypothesis of a sentence that becomes three, reordering and dropped
// sentences, and compares each step with what the network says of the whole prefix; attention too, where full has it.
func equalsFull(t *testing.T, name string, decoder models.Decoder, source models.Tokens,
	full func(source, prev models.Tokens) torch.States, limit float64) {
	t.Helper()
	d := decoder.Start(source)
	defer decoder.Free()
	defer d.Free()
	sentence := []int{0, 1, 2, 3}
	histories := make([][]int64, len(sentence))
	reorder := func(group int, keep []int64, parents ...int) {
		old := len(histories) / len(sentence)
		kept := keep
		if kept == nil {
			kept = []int64{0, 1, 2, 3}
		}
		var order []int64
		var next [][]int64
		var left []int
		for _, k := range kept {
			left = append(left, sentence[k])
			for g := range group {
				from := int(k)*old + parents[g]
				order = append(order, int64(from))
				next = append(next, append([]int64(nil), histories[from]...))
			}
		}
		histories, sentence = next, left
		d.Reorder(order, keep)
	}
	word := int64(5)
	for step := range 7 {
		words := make([]int64, len(histories))
		for r := range histories {
			word = (word*7+3)%40%16 + 3
			words[r] = word
			histories[r] = append(histories[r], word)
		}
		hidden, attention := d.Step(words, step%2 == 0)
		if attention.Defined() != (step%2 == 0) {
			t.Fatal("attention is not what was asked for")
		}
		for r, history := range histories {
			full := full(trim(source, sentence[r*len(sentence)/len(histories)]),
				models.Tokens{IDs: history, Rows: 1, Width: len(history)})
			last := int64(len(history) - 1)
			near(t, fmt.Sprintf("%s: step %d, hypothesis %d", name, step, r), hidden.Narrow(0, int64(r), 1),
				full.Hidden.Narrow(0, last, 1), limit)
			if attention.Defined() && full.Attention.Defined() {
				s := full.Attention.Size(2)
				near(t, "attention", attention.Narrow(0, int64(r), 1).Narrow(1, 0, s),
					full.Attention.Narrow(1, last, 1).Reshape(1, s), limit)
			}
		}
		switch step {
		case 0:
			reorder(3, nil, 0, 0, 0)
		case 2:
			reorder(3, nil, 2, 0, 2)
		case 3:
			reorder(3, []int64{0, 2, 3}, 1, 2, 0)
		case 5:
			reorder(3, []int64{1}, 1, 1, 0)
		}
	}
}

// TestDecoderInThreads: a batch that is shared among threads gives the hidden
// states that it gives alone, and those of plain operators, for heads of widths
// with kernels of their own and without.
func TestDecoderInThreads(t *testing.T) {
	defer torch.SetThreads(torch.Threads())
	source := models.Tokens{Rows: 151, Width: 7, IDs: make([]int64, 151*7)}
	for i := range source.IDs {
		source.IDs[i] = int64(3 + i*37%97)
		if i%7 == 6 && i%5 == 0 {
			source.IDs[i] = tokenize.Pad
		}
	}
	for _, heads := range []int{1, 2, 4} { // 128, 64 and 32 columns a head
		t.Run(fmt.Sprint(heads), func(t *testing.T) {
			torch.Test(t, func() {
				p, s := &torch.Params{}, torch.NewStream(1, "init")
				defer p.Free()
				table := pieces(p, "decoder.embed_tokens.weight", 100, 128, s, torch.Float32)
				m, err := models.NewTransformer(transformer(1, 2, 128, 200, heads, 50, torch.Float32), table, table, p,
					s, device)
				if err != nil {
					t.Fatal(err)
				}
				defer m.Free()
				run := func(threads int, d models.Decoder) (hidden torch.Tensor) {
					torch.SetThreads(threads)
					defer d.Free()
					decoding := d.Start(source)
					defer decoding.Free()
					for range 4 {
						hidden, _ = decoding.Step(source.IDs[:151], false)
					}
					return hidden
				}
				plain := run(1, m.UnfusedDecoder())
				near(t, "one thread", run(1, m.Decoder()), plain, 1e-5)
				near(t, "three threads", run(3, m.Decoder()), plain, 1e-5)
			})
		})
	}
	if device != torch.CPU {
		return // where these kernels are not used
	}
	paths := torch.KernelPaths()
	for _, kernel := range []string{"add_norm_row", "attend_32", "attend_64", "attend_any"} {
		if got := paths["search/decoder_step.cc/"+kernel]; got != torch.ISA() {
			t.Errorf("%s has run with %q, not with %s", kernel, got, torch.ISA())
		}
	}
}
