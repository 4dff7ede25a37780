package torch

// States are hidden states by row, padding removed: what a network hands to an output layer. Each row knows the place
// that it came from, since what shares one mask over time draws it by column. Legend: N rows, D width, B columns or
// sentences, T target length, S source length.
type States struct {
	Hidden  Tensor  // [N,D] as the output layer reads them, dropped out in training
	Time    []int64 // [N] position in its sequence, or nil where the network does not say
	Column  []int64 // [N] column of the batch, in [0, Columns), or nil
	Columns int64   // B

	Raw       Tensor // [N,D] of a language model, before its last dropout: what a cache compares
	Terms     []Term // what training adds to the loss of the batch
	Attention Tensor // [B,T,S] of a translator's last layer, averaged over heads, where it was asked for

	Recomputation *Recomputation // nil where nothing is computed once more
}

// ScopedStates is Scoped for what gives states. Where layers are computed once more, what they read stays, too.
func ScopedStates(f func() States) States {
	needScope("ScopedStates")
	s := OpenScope()
	defer s.Close()
	states := f()
	stay := []Tensor{states.Hidden, states.Raw, states.Attention}
	for _, term := range states.Terms {
		stay = append(stay, term.Value)
	}
	if states.Recomputation != nil {
		for _, h := range s.handles {
			stay = append(stay, Tensor{h})
		}
	}
	for _, x := range stay {
		if x.Defined() {
			s.release(x)
		}
	}
	return states
}

// Backward is that of a loss of the states, and of the network behind them.
func (s States) Backward(loss Tensor) {
	loss.Backward()
	s.Recomputation.Backward()
}

// From are the states without their first n rows.
func (s States) From(n int64) States {
	if n == 0 {
		return s
	}
	for _, x := range []*Tensor{&s.Hidden, &s.Raw} {
		if x.Defined() {
			*x = x.Narrow(0, n, x.Size(0)-n)
		}
	}
	for _, places := range []*[]int64{&s.Time, &s.Column} {
		if *places != nil {
			*places = (*places)[n:]
		}
	}
	return s
}

// Term is an auxiliary term of the loss: Weight times Value.
type Term struct {
	Name   string
	Weight float64
	Value  Tensor // without dimensions
}

// Extra is the weighted sum of the terms, the zero Tensor where there are none.
func (s States) Extra() (sum Tensor) {
	for _, term := range s.Terms {
		x := term.Value.MulScalar(term.Weight)
		if sum.Defined() {
			x = sum.Add(x)
		}
		sum = x
	}
	return sum
}
