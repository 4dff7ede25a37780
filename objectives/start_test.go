package objectives

import (
	"math"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// A layer that starts from the weights of another one, of whatever method, has its word vectors and scores as it does;
// where both parameterise W alike, bit for bit.
func TestStartFrom(t *testing.T) {
	all := trained()
	started, refused := 0, 0
	for _, form := range []string{"", " with everything"} {
		for _, old := range []string{"mle", "spectrum", "sn", "mos", "mos+spectrum", "adaptive", "adaptive+spectrum", "drill",
			"mixtape"} {
			from := all[old+form]
			for name, to := range all {
				if strings.HasSuffix(name, " with everything") != (form != "") {
					continue
				}
				if to.StartsFrom(from) != nil {
					refused++
					continue
				}
				started++
				torch.Test(t, func() { checkStart(t, name+" from "+old, to, from) })
			}
		}
	}
	if started < 140 || refused < 200 {
		t.Errorf("%d pairs of methods start from one another and %d are refused: too few", started, refused)
	}
}

func checkStart(t *testing.T, name string, to, from Settings) {
	t.Helper()
	p, q := config(31, 7, 2), config(31, 7, 2)
	q.Stream = torch.NewStream(2, "init")
	first, second := layer(t, from, p), layer(t, to, q)
	defer release(first, p)
	defer release(second, q)
	moved(p)
	weights := p.Params.Map()
	if err := second.StartFrom(first, weights); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if err := q.Params.Load(weights); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	exact := 1e-11
	if strings.Join(first.own, " ") == strings.Join(second.own, " ") {
		exact = 0
	}
	near(t, name+": W", second.Embedding().Matrix().Float64s(), first.Embedding().Matrix().Float64s(), exact)
	ids := torch.FromInt64s([]int64{2, 5, 30}, device, 3)
	near(t, name+": word vectors", second.Lookup(ids).Float64s(), first.Lookup(ids).Float64s(), exact)
	if transforms(resolved(to).Terms) != transforms(resolved(from).Terms) {
		return // the same weights, other scores
	}
	hidden := torch.NewStream(4, "data").Normal(0, 1, torch.Float64, device, 5, 7)
	near(t, name+": log-probabilities", second.LogProbs(hidden).Float64s(), first.LogProbs(hidden).Float64s(), exact)
}

// TestUnset: a layer whose weights are read needs no draws, whatever the method.
func TestUnset(t *testing.T) {
	for name, s := range trained() {
		torch.Test(t, func() {
			p, q := config(31, 7, 2), config(31, 7, 2)
			q.Stream = q.Stream.Unset()
			drawn, read := layer(t, s, p), layer(t, s, q)
			defer release(drawn, p)
			defer release(read, q)
			moved(p)
			if err := q.Params.Load(p.Params.Map()); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			ids := torch.FromInt64s([]int64{2, 5, 30}, device, 3)
			near(t, name+": word vectors", read.Lookup(ids).Float64s(), drawn.Lookup(ids).Float64s(), 0)
			hidden := torch.NewStream(4, "data").Normal(0, 1, torch.Float64, device, 5, 7)
			near(t, name+": log-probabilities", read.LogProbs(hidden).Float64s(), drawn.LogProbs(hidden).Float64s(), 0)
		})
	}
}

// In float32, as runs train, the factors make W to 1e-5 of its elements and the loss of a batch to 1e-5 nats.
func TestStartFromInFloat32(t *testing.T) {
	for _, method := range []string{"spectrum", "spectrum-poly", "sn", "sn-doptimal"} {
		torch.Test(t, func() {
			dense, factored := config(700, 64, 1), config(700, 64, 1)
			dense.DType, factored.DType = torch.Float32, torch.Float32
			s := unsmoothed()
			first := layer(t, s, dense)
			s.Method = method
			second := layer(t, s, factored)
			defer release(first, dense)
			defer release(second, factored)
			moved(dense)
			weights := dense.Params.Map()
			if err := second.StartFrom(first, weights); err != nil {
				t.Fatal(err)
			}
			if err := factored.Params.Load(weights); err != nil {
				t.Fatal(err)
			}
			near(t, method+": W", second.Embedding().Matrix().Float64s(), first.Embedding().Matrix().Float64s(), 1e-5)
			hidden := torch.NewStream(4, "data").Normal(0, 1, torch.Float32, device, 50, 64)
			ids := make([]int64, 50)
			for i := range ids {
				ids[i] = int64(2 + 13*i)
			}
			targets := torch.FromInt64s(ids, device, 50)
			loss := func(o *Output) float64 {
				value, _ := o.Loss(torch.States{Hidden: hidden}, targets, 1.0/50)
				return value.Item()
			}
			if a, b := loss(first), loss(second); math.Abs(a-b) > 1e-5 {
				t.Errorf("%s: a batch has loss %v, and %v before", method, b, a)
			}
		})
	}
}

// What cannot score as the weights did is refused in a sentence that says what would.
func TestStartsFromRefuses(t *testing.T) {
	of := func(method string, keys ...any) Settings {
		s := Defaults()
		s.Set(append([]any{"method", method}, keys...)...)
		return s
	}
	for _, c := range []struct {
		to, from Settings
		part     string // empty: allowed
	}{
		{of("mos"), of("mle"), "train from the beginning"},
		{of("mle"), of("mos"), "the method that they were trained with"},
		{of("adaptive"), of("spectrum"), "beside the output matrix"},
		{of("vmf"), of("mle"), "vectors of words"},
		{of("mle"), of("vmf"), "fixed vectors of words"},
		{of("l2"), of("vmf"), "objective.map_norm"},
		{of("vmf"), of("cosine"), "objective.map_norm"},
		{of("vmf", "map_norm", false), of("vmf"), "objective.map_norm"},
		{of("powerspherical"), of("vmf"), ""},
		{of("l2"), of("maxmargin"), ""},
		{of("sn", "sn_gain", false), of("mle"), "objective.sn_gain = true"},
		{of("sn", "sn_gain", false), of("sn"), "objective.sn_gain = true"},
		{of("sn", "sn_gain", false), of("sn-doptimal", "sn_gain", false), ""},
		{of("spectrum"), of("sn", "sn_gain", false), ""},
		{of("headless"), of("mle"), ""},
		{of("headless", "bias", true), of("mle"), ""},
		{of("headless", "bias", true), of("mle", "bias", true), "start from a run with objective.bias = false"},
		{of("spectrum"), of("headless", "bias", true), ""},
		{of("mle", "bias", true), of("headless", "bias", true), "set objective.bias = false"},
		{of("spectrum"), of("headless"), ""},
		{of("softcap+cosreg"), of("spectrum+adversarial"), ""},
		{of("nothing"), of("mle"), "no method"},
	} {
		err := c.to.StartsFrom(c.from)
		if c.part == "" && err != nil || c.part != "" && (err == nil || !strings.Contains(err.Error(), c.part)) {
			t.Errorf("%s from %s: %v, want a sentence with %q", c.to.Method, c.from.Method, err, c.part)
		}
	}
}

// A vocabulary with fewer words than columns, and a row of padding that is not zero: K singular values cannot make W.
func TestStartFromTooFewWords(t *testing.T) {
	torch.Test(t, func() {
		p, q := config(5, 7, 1), config(5, 7, 1)
		s := unsmoothed()
		first := layer(t, s, p)
		s.Method = "spectrum"
		second := layer(t, s, q)
		defer release(first, p)
		defer release(second, q)
		if err := second.StartFrom(first, p.Params.Map()); err != nil {
			t.Errorf("padding at zero: %v", err)
		}
		moved(p)
		if err := second.StartFrom(first, p.Params.Map()); err == nil ||
			!strings.Contains(err.Error(), "no product of 4 singular values") {
			t.Errorf("the error is %v", err)
		}
		p, q = config(20, 31, 2), config(20, 31, 2)
		s.Method = "adaptive"
		clusters := layer(t, s, p)
		s.Method = "adaptive+spectrum"
		factored := layer(t, s, q)
		defer release(clusters, p)
		defer release(factored, q)
		if err := factored.StartFrom(clusters, p.Params.Map()); err == nil ||
			!strings.Contains(err.Error(), "no product with the ") {
			t.Errorf("the error of clusters is %v", err)
		}
	})
}
