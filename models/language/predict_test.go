package language_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/torch"
)

// TestPredict: the losses of words add up to Score's, in one chunk or in several; the words that may follow are
// ordered, and the first of them is what Sample takes.
func TestPredict(t *testing.T) {
	m := openCounts(t)
	next := m.Words.Word(5)
	for _, text := range []string{"", "\n", next, next + " " + next + "\n" + next, strings.Repeat(next+" ", 1500) + "\n"} {
		p, err := m.Predict(t.Context(), text, m.Words.Len()+5)
		if err != nil {
			t.Fatal(err)
		}
		sum, total := 0.0, 0.0
		for _, w := range p.Words {
			sum += w.NLL
		}
		if strings.HasSuffix(text, "\n") {
			want := score(t, m, text)
			if len(p.Words) != want.Tokens || math.Abs(sum-want.NLL) > 1e-4*(1+want.NLL) {
				t.Errorf("%.20q: %d words lose %v, and Score says %+v", text, len(p.Words), sum, want)
			}
		}
		for i, x := range p.Next {
			total += x.Probability
			if i > 0 && x.Probability > p.Next[i-1].Probability {
				t.Errorf("%.20q: the words that may follow are not ordered", text)
			}
		}
		if len(p.Next) != m.Words.Len() || math.Abs(total-1) > 1e-4 {
			t.Errorf("%.20q: %d words have the probability %v together", text, len(p.Next), total)
		}
		if text == next {
			if got := sample(t, m, text, language.SampleOptions{Words: 1}); got != strings.TrimSpace(text+" "+p.Next[0].Text) {
				t.Errorf("Sample goes on with %q, and %q is the most probable word", got, p.Next[0].Text)
			}
		}
	}
	if p, err := m.Predict(t.Context(), next+"\n"+next, 1); err != nil || len(p.Next) != 1 || len(p.Words) != 3 ||
		p.Words[0].Text != next || p.Words[1].Text != "\n" {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestPredictGPT: a network that reads blocks says of each word what it says behind the same words read anew.
func TestPredictGPT(t *testing.T) {
	withGPT(t, gptSettings(), func(m *language.Model, ids []int32) {
		begin, _ := m.Words.Begin()
		ids = slices.DeleteFunc(ids, func(id int32) bool { return id == begin })
		read := append([]int32{begin}, ids[:7]...)
		p, err := m.Predict(t.Context(), m.Words.Text(ids[:7]), 3)
		if err != nil || len(p.Words) != 7 {
			t.Fatalf("%+v, %v", p, err)
		}
		for i, w := range p.Words {
			if want := -float64(after(m, read[:i+1])[read[i+1]]); math.Abs(w.NLL-want) > 1e-4 || w.Text != m.Words.Word(ids[i]) {
				t.Errorf("word %d is %+v, want a loss of %v", i, w, want)
			}
		}
		next := after(m, read)
		if best := slices.Max(next); math.Abs(p.Next[0].Probability-math.Exp(float64(best))) > 1e-4 {
			t.Errorf("the next word has %v, want %v", p.Next[0].Probability, math.Exp(float64(best)))
		}
		long := m.Words.Text(ids) // more than the network has room for, and scored in windows
		for _, w := range []struct{ bptt, stride int }{{8, 0}, {7, 0}, {8, 4}, {8, 1}} {
			m.Settings.Train.BPTT, m.Settings.Train.Stride = w.bptt, w.stride
			p, err := m.Predict(t.Context(), long+"\n", 3)
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for _, w := range p.Words {
				sum += w.NLL
			}
			if want := score(t, m, long+"\n"); len(p.Words) != want.Tokens || math.Abs(sum-want.NLL) > 1e-4*want.NLL {
				t.Errorf("%+v: %d words lose %v, and Score says %+v", w, len(p.Words), sum, want)
			}
			if p, err = m.Predict(t.Context(), long, 1); err != nil {
				t.Fatal(err)
			}
			if got := sample(t, m, long, language.SampleOptions{Words: 1}); got != long+" "+p.Next[0].Text {
				t.Errorf("%+v: Sample goes on with %q, and %q is the most probable word", w, got[len(long):],
					p.Next[0].Text)
			}
		}
	})
}

// withXL runs body with a small Transformer-XL and a text, where words, positions and chunks change what comes next.
func withXL(t *testing.T, memory, bptt int, body func(m *language.Model, ids []int32)) {
	t.Helper()
	change := func(s *language.Settings) {
		s.Model.Kind, s.Model.Heads, s.Model.FFNWidth = "transformer-xl", 2, 16
		s.Model.Memory, s.Model.Tying = memory, "none"
		s.Train.Random, s.Train.BPTT = false, bptt
	}
	withModel(t, change, func(m *language.Model, texts texts) {
		stream := torch.NewStream(7, "init")
		for _, x := range m.Params.Tensors() {
			torch.NoGrad(func() { x.Assign(stream.Normal(0, 0.5, torch.Float32, device, x.Shape()...)) })
		}
		body(m, texts.valid)
	})
}

// TestChunksOfAPrompt: Sample reads a prompt in the chunks of training, as Predict does, though its memory is short.
func TestChunksOfAPrompt(t *testing.T) {
	for _, memory := range []int{7, 3} {
		withXL(t, memory, 7, func(m *language.Model, ids []int32) {
			for n := 5; n < 100; n += 3 {
				text := strings.TrimSpace(m.Words.Text(ids[:n]))
				p, err := m.Predict(t.Context(), text, 1)
				if err != nil {
					t.Fatal(err)
				}
				got := sample(t, m, text, language.SampleOptions{Words: 1})
				if want := strings.TrimSpace(text + " " + p.Next[0].Text); strings.TrimSpace(got) != want {
					t.Errorf("memory %d, behind %d words Sample goes on with %q, and %q is the most probable word",
						memory, n, got[len(text):], p.Next[0].Text)
				}
			}
		})
	}
}

// TestSampleWithoutMemory: each word of a sample sees the words of its chunk, though the memory has no room for them.
func TestSampleWithoutMemory(t *testing.T) {
	withXL(t, 0, 40, func(m *language.Model, ids []int32) {
		own := m.Settings.Model.XLContext
		for i := range 10 {
			seen := slices.Clone(ids[8*i:][:8])
			for j, id := range m.Continue(t.Context(), seen, language.SampleOptions{Words: 10}) {
				next := after(m, seen)
				if best := slices.Max(next); next[id] < best-1e-4 {
					t.Errorf("prompt %d, word %d has %v, and the best one %v", i, j, next[id], best)
				}
				seen = append(seen, id)
			}
		}
		if now := m.Network.(*models.TransformerXL).XLContext; now != own {
			t.Errorf("the network now sees %+v, and saw %+v", now, own)
		}
	})
}
