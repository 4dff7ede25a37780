package torch_test

import (
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestRecomputationUnderAutocast: a weight that a piece has multiplied by gets its gradient of a later product, too,
// and a stream's draws go on behind the piece.
func TestRecomputationUnderAutocast(t *testing.T) {
	torch.Test(t, func() {
		s := torch.NewStream(1, "x")
		x := torch.Parameter(s.Normal(0, 1, torch.Float32, device, 3, 4))
		w := torch.Parameter(s.Normal(0, 1, torch.Float32, device, 4, 4))
		defer torch.Free(x, w)
		both := []torch.Tensor{x, w}
		gradients := func(r *torch.Recomputation) (ofX, ofW torch.Tensor, draws uint64) {
			torch.ZeroGrad(both)
			dropout := torch.NewStream(2, "dropout")
			var loss torch.Tensor
			torch.Autocast(true, device, func() {
				y := r.Run(dropout, func(x ...torch.Tensor) torch.Tensor {
					return torch.Dropout(torch.Linear(x[0], w, torch.Tensor{}), 0.5, dropout)
				}, r.Leaf(both[0]))
				loss = torch.Dropout(torch.Linear(y, w, torch.Tensor{}), 0.5, dropout).To(torch.Float32, device).Square().Sum()
			})
			torch.States{Recomputation: r}.Backward(loss)
			return both[0].Grad().Clone(), both[1].Grad().Clone(), dropout.Offset
		}
		wantX, wantW, drawn := gradients(nil)
		gotX, gotW, again := gradients(&torch.Recomputation{})
		nearWithin(t, "the operand's gradient", gotX, wantX, 1e-2)
		nearWithin(t, "the weight's gradient", gotW, wantW, 1e-2)
		if again != drawn {
			t.Errorf("%d draws, want %d", again, drawn)
		}
	})
}

// TestRunFreesWhatIsNotNeeded: of a piece's tensors the result alone stays, and with it what its backward pass needs.
func TestRunFreesWhatIsNotNeeded(t *testing.T) {
	torch.Test(t, func() {
		x := torch.NewStream(1, "x").Normal(0, 1, torch.Float32, device, 1000)
		x.SetRequiresGrad(true)
		handles, bytes := torch.LiveHandles(), torch.LiveBytes()
		var r *torch.Recomputation
		y := r.Run(nil, func(x ...torch.Tensor) torch.Tensor { return x[0].AddScalar(1).AddScalar(2).Relu() }, x)
		if made := torch.LiveHandles() - handles; made != 1 {
			t.Errorf("%d tensors have a name, want the result alone", made)
		}
		if kept := torch.LiveBytes() - bytes; kept > 5000 {
			t.Errorf("%d bytes are kept, want those of the result, 4000", kept)
		}
		y.Sum().Backward()
		below := torch.Full(-3, torch.Float32, device, 1)
		near(t, "gradient", x.Grad(), below.Less(x.Detach()).To(torch.Float32, device))
	})
}

// TestRunGivesAnOperandBack: a piece whose result is its operand, or shares its memory, hands its gradient on.
func TestRunGivesAnOperandBack(t *testing.T) {
	torch.Test(t, func() {
		for name, f := range map[string]func(x ...torch.Tensor) torch.Tensor{
			"dropout of nothing": func(x ...torch.Tensor) torch.Tensor { return torch.Dropout(x[0], 0, nil) },
			"another shape":      func(x ...torch.Tensor) torch.Tensor { return x[0].Reshape(4) },
		} {
			x := torch.Full(1, torch.Float32, device, 2, 2)
			x.SetRequiresGrad(true)
			r := &torch.Recomputation{}
			loss := r.Run(nil, f, r.Leaf(x)).MulScalar(3).Sum()
			torch.States{Recomputation: r}.Backward(loss)
			near(t, name, x.Grad(), torch.Full(3, torch.Float32, device, 2, 2))
		}
	})
}
