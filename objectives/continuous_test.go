package objectives

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// continuousMethods are settings that exercise every loss with target vectors.
func continuousMethods() map[string]Settings {
	all := map[string]Settings{}
	add := func(name, method string, change func(*Settings)) {
		s := unsmoothed()
		s.Method = method
		change(&s)
		all[name] = s
	}
	for form := range vmfForms {
		add("vmf "+form, "vmf", func(s *Settings) { s.Set("vmf_form", form) })
	}
	for form := range l2Forms {
		add("l2 "+form, "l2", func(s *Settings) { s.Set("l2_form", form) })
	}
	for _, method := range []string{"cosine", "maxmargin", "powerspherical"} {
		add(method, method, func(*Settings) {})
	}
	add("vmf without norm", "vmf", func(s *Settings) { s.Set("map_norm", false) })
	return all
}

// aimed is a place with target vectors of m components, of which that of the padding and
// the one before the last word are zero.
func aimed(v, d, m, padding int64) Config {
	p := config(v, d, padding)
	x := torch.NewStream(9, "vectors").Normal(0, 3, torch.Float64, device, v, m)
	p.Vectors = x.MaskedFill(torch.Arange(v, device).EqualScalar(float64(v-2)).Reshape(v, 1), 0)
	return p
}

// tableRows gives the rows of a table as slices.
func tableRows(e Embedding) [][]float64 {
	v, m := e.Size()
	all, rows := e.Matrix().Float64s(), make([][]float64, v)
	for i := range rows {
		rows[i] = all[int64(i)*m : int64(i+1)*m]
	}
	return rows
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func TestFrozenTableHasUnitRowsAndNoGradient(t *testing.T) {
	torch.Test(t, func() {
		p := config(6, 4, 1)
		p.Vectors = torch.FromFloat64s([]float64{3, 4, 0, 5, 5, 5, 0, 0, 0, 1e200, 1e200, 0, 1e-9, 0, 1e-9, -2, 0, 0},
			device, 6, 3)
		s := unsmoothed()
		s.Method = "vmf"
		o := layer(t, s, p)
		defer release(o, p)
		half := math.Sqrt(0.5)
		want := []float64{0.6, 0.8, 0, 0, 0, 0, 0, 0, 0, half, half, 0, half, 0, half, -1, 0, 0}
		near(t, "the table", o.Embedding().Matrix().Float64s(), want, 1e-15)
		names := strings.Join(p.Params.Names(), " ")
		if want := "decoder.embed_tokens.map.weight decoder.embed_tokens.map.bias " +
			"decoder.output_projection.map.weight decoder.output_projection.map.bias " +
			"decoder.output_projection.map_norm.weight decoder.output_projection.map_norm.bias"; names != want {
			t.Errorf("the parameters are %s, want %s", names, want)
		}
		ids := torch.FromInt64s([]int64{2, 0, 2}, device, 3)
		rows := o.Lookup(ids)
		rows.Square().Sum().Backward()
		near(t, "the row of a symbol without a vector", rows.Narrow(0, 0, 1).Float64s(),
			p.Params.Get("decoder.embed_tokens.map.bias").Float64s(), 0)
		if len(gradients(p)) != 2 {
			t.Error("looking words up does not train the map alone")
		}
		q := aimed(9, 4, 3, 1)
		q.OutputOnly = true
		other := layer(t, s, q)
		defer release(other, q)
		if n := len(q.Params.Names()); n != 4 {
			t.Errorf("a table that nothing looks up has %d parameters, want the 4 of the output's map", n)
		}
	})
}

// TestFrozenTableIsMadeInPlace: vectors of a file can be as large as memory allows.
func TestFrozenTableIsMadeInPlace(t *testing.T) {
	torch.Test(t, func() {
		const v, m = 40*rowsAtOnce + 3, 32
		p := config(v, 4, 1)
		p.DType = torch.Float32
		p.Vectors = torch.NewStream(9, "vectors").Normal(0, 3, torch.Float32, torch.CPU, v, m)
		before := torch.LiveBytes()
		torch.ResetPeakBytes()
		e := &Frozen{}
		if err := e.Init(p); err != nil {
			t.Fatal(err)
		}
		defer p.Params.Free()
		defer torch.Free(e.table, e.bias)
		if got := torch.PeakBytes() - before; got > 3*v*m*4/2+1<<20 {
			t.Errorf("a table of %d bytes took %d at its peak", v*m*4, got)
		}
		lengths := e.Matrix().Norm(1, false).Float64s()
		want := slices.Repeat([]float64{1}, v)
		want[1] = 0 // padding
		near(t, "lengths", lengths, want, 1e-5)

		row := p.Vectors.Narrow(0, v-1, 1)
		row.Assign(row.Detach().Mul(torch.Full(math.Inf(1), torch.Float32, torch.CPU, 1)))
		live := torch.LiveBytes()
		s := unsmoothed()
		s.Method = "vmf"
		if _, err := New(s, p); err == nil || !strings.Contains(err.Error(), "no finite number") {
			t.Errorf("infinite numbers: %v", err)
		}
		if left := torch.LiveBytes() - live; left > v*8 {
			t.Errorf("a refused table leaves %d bytes", left)
		}
	})
}

func TestContinuousGradientsByDifferences(t *testing.T) {
	for name, s := range continuousMethods() {
		t.Run(name, func(t *testing.T) {
			torch.Test(t, func() {
				const n, v, d, m = 9, 13, 4, 5
				p := aimed(v, d, m, 1)
				o := layer(t, s, p)
				defer release(o, p)
				stream := torch.NewStream(3, "data")
				for _, x := range p.Params.Tensors() {
					x.Assign(x.Detach().Add(stream.Normal(0, 0.3, torch.Float64, device, x.Shape()...)))
				}
				hidden := leaf(stream.Normal(0, 1, torch.Float64, device, n, d), torch.Float64)
				targets := torch.FromInt64s([]int64{0, 1, 2, 3, 4, 5, 12, 11, 2}, device, n)
				loss := func() torch.Tensor {
					l, _ := o.Loss(torch.States{Hidden: hidden}, targets, 0.25)
					return l
				}
				loss().Backward()
				inputs := map[string]torch.Tensor{"hidden": hidden}
				for _, parameter := range p.Params.Names()[2:] { // the first two are the decoder's input
					inputs[parameter] = p.Params.Get(parameter)
				}
				for what, x := range inputs {
					got, values := x.Grad().Float64s(), x.Detach().Float64s()
					const step = 1e-5
					at := func(i int, by float64) float64 {
						moved := append([]float64(nil), values...)
						moved[i] += by
						x.Assign(torch.FromFloat64s(moved, device, x.Shape()...))
						return loss().Item()
					}
					for i := range values {
						want := (at(i, step) - at(i, -step)) / (2 * step)
						if d := math.Abs(got[i] - want); d > 1e-6*math.Max(1, math.Abs(want)) {
							t.Errorf("gradient %d of %s is %v, by differences %v", i, what, got[i], want)
						}
					}
					x.Assign(torch.FromFloat64s(values, device, x.Shape()...))
				}
			})
		})
	}
}

// TestScoresAreMinusTheCleanLoss: search, evaluation and training agree on every word that has
// a vector, and Nearest is the search over all words by brute force.
func TestScoresAreMinusTheCleanLoss(t *testing.T) {
	for name, s := range continuousMethods() {
		t.Run(name, func(t *testing.T) {
			torch.Test(t, func() {
				const n, v, d, m = 40, 17, 6, 3
				p := aimed(v, d, m, 1)
				o := layer(t, s, p)
				defer release(o, p)
				hidden := torch.NewStream(3, "data").Normal(0, 2, torch.Float64, device, n, d)
				scores := o.LogProbs(hidden).Float64s()
				for word := range int64(v) {
					if word == 1 || word == v-2 {
						for i := range n {
							if scores[int64(i)*v+word] > -1e29 {
								t.Fatalf("symbol %d has no vector, and the score %v", word, scores[int64(i)*v+word])
							}
						}
						continue
					}
					targets := torch.Full(float64(word), torch.Int64, device, n)
					clean := o.NLL(torch.States{Hidden: hidden}, targets).Float64s()
					_, training := o.Loss(torch.States{Hidden: hidden}, targets, 1)
					near(t, "clean loss of training", training.Float64s(), clean, 1e-13)
					for i := range clean {
						clean[i] = -clean[i]
					}
					of := make([]float64, n)
					for i := range of {
						of[i] = scores[int64(i)*v+word]
					}
					near(t, fmt.Sprint("scores of word ", word), of, clean, 1e-10)
				}
				all, everyone, _ := o.Nearest(hidden, v)
				for i, id := range everyone.Int64s() {
					got, want := all.Float64s()[i], scores[int64(i)/v*v+id]
					if d := math.Abs(got - want); d > 1e-10*(1+math.Abs(want)) {
						t.Fatalf("row %d: the score of %d is %v in Nearest, %v in LogProbs", i/v, id, got, want)
					}
				}
				_, ids, ok := o.Nearest(hidden, 3)
				if !ok {
					t.Fatal("a continuous method has no nearest words")
				}
				rows, x, found := tableRows(o.Embedding()),
					o.method.Likelihood.(*Continuous).outputs(hidden).Float64s(), ids.Int64s()
				for i := range n {
					out := x[i*m : (i+1)*m]
					for k, id := range found[i*3 : i*3+3] {
						above := 0
						for word, e := range rows {
							if word != 1 && word != v-2 && dot(out, e) > dot(out, rows[id]) {
								above++
							}
						}
						if above != k {
							t.Errorf("row %d: word %d comes %d., but %d words are nearer", i, id, k+1, above)
						}
					}
				}
			})
		})
	}
}
