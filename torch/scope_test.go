package torch_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// failure is the *Error that f panics with.
func failure(t *testing.T, f func()) *torch.Error {
	t.Helper()
	var e *torch.Error
	if err := torch.Try(func() error { f(); return nil }); !errors.As(err, &e) {
		t.Fatalf("got the error %v, want a *torch.Error", err)
	}
	return e
}

// everyKind calls operators by all the ways in which they reach libtorch.
func everyKind(x torch.Tensor) map[string]func() {
	return map[string]func(){
		"Add":            func() { x.Add(x) },     // gotorch
		"TopK":           func() { x.TopK(1, 0) }, // gotorch, two results
		"Exp":            func() { x.Exp() },      // csrc
		"QR":             func() { x.QR() },       // csrc, two results
		"Stack":          func() { torch.Stack([]torch.Tensor{x}, 0) },
		"Cat":            func() { torch.Cat([]torch.Tensor{x}, 0) },
		"Permute":        func() { x.Permute(1, 0) },
		"Linear":         func() { torch.Linear(x, x, torch.Tensor{}) },
		"Shape":          func() { x.Shape() },
		"Grad":           func() { x.Grad() },
		"copy to Go":     func() { _ = x.Float32s() },
		"Keep":           func() { torch.Keep(x) },
		"Parameter":      func() { torch.Parameter(x) },
		"ZeroGrad":       func() { torch.ZeroGrad([]torch.Tensor{x}) },
		"BackwardWith":   func() { x.BackwardWith(x) },
		"AssignFloat32s": func() { x.AssignFloat32s(nil) },
	}
}

func TestUseAfterClose(t *testing.T) {
	torch.Test(t, func() {
		s := torch.OpenScope()
		x := torch.Zeros(torch.Float32, device, 2, 2)
		if !x.Defined() {
			t.Error("a new tensor is not defined")
		}
		s.Close()
		if x.Defined() || (torch.Tensor{}).Defined() {
			t.Error("a closed tensor, or none, is defined")
		}
		for what, closed := range map[string]torch.Tensor{"was used after its scope was closed": x,
			"is no tensor": {}} {
			for op, f := range everyKind(closed) {
				e := failure(t, f)
				if op != "copy to Go" && op != "Shape" && e.Op != op && e.Op != "Shape" {
					t.Errorf("%s: the error names %s", op, e.Op)
				}
				if !strings.Contains(e.Error(), what) {
					t.Errorf("%s: the error is %v", op, e)
				}
			}
		}
	})
}

func TestNoScopeIsOpen(t *testing.T) {
	torch.Do(func() {
		s := torch.OpenScope()
		x := torch.FromFloat32s([]float32{2, 0, 1, 2}, device, 2, 2)
		x.SetRequiresGrad(true)
		x.Sum().Backward()
		torch.Keep(x)
		s.Close()
		before := torch.LiveHandles()
		makers := everyKind(x)
		for _, op := range []string{"Shape", "copy to Go", "Keep", "Parameter", "ZeroGrad", "BackwardWith",
			"AssignFloat32s"} {
			delete(makers, op) // these make none
		}
		makers["SVD"] = func() { x.SVD() }
		makers["Zeros"] = func() { torch.Zeros(torch.Float32, device, 1) }
		makers["Scoped"] = func() { torch.Scoped(func() torch.Tensor { return x.Neg() }) }
		for op, f := range makers {
			if e := failure(t, f); !strings.Contains(e.Error(), "no scope is open") {
				t.Errorf("%s: the error is %v", op, e)
			}
		}
		if left := torch.LiveHandles() - before; left != 0 {
			t.Errorf("%d tensors were lost", left)
		}
		torch.Free(x)
		torch.Free(x, torch.Tensor{})
	})
}

// TestLossesNeedAScope: where a loss opens a scope of its own, and where it has three results, too.
func TestLossesNeedAScope(t *testing.T) {
	torch.Do(func() {
		s := torch.OpenScope()
		h_ND, a_NK := torch.Zeros(torch.Float32, device, 2, 3), torch.Zeros(torch.Float32, device, 2, 1)
		u_NKD, shift_N := torch.Zeros(torch.Float32, device, 2, 1, 3), torch.Zeros(torch.Float32, device, 2)
		targets := torch.FromInt64s([]int64{0, 1}, device, 2)
		kept := []torch.Tensor{h_ND, a_NK, u_NKD, shift_N, targets}
		torch.Keep(kept...)
		s.Close()
		before := torch.LiveHandles()
		fused := torch.SoftmaxLossOptions{Ignore: -1, Scale: 1}
		plain := fused
		plain.Plain = true
		none := torch.Tensor{}
		for what, f := range map[string]func(){
			"a plain softmax":   func() { torch.SoftmaxLoss(h_ND, h_ND, none, targets, plain) },
			"a shifted softmax": func() { torch.ShiftedSoftmaxLoss(h_ND, h_ND, none, targets, shift_N, fused) },
			"a shifted mixture": func() { torch.MixtureLoss(u_NKD, a_NK, h_ND, none, targets, a_NK, fused) },
			"transformed":       func() { torch.MixtureLogProbs(u_NKD, a_NK, h_ND, none, asItIs) },
		} {
			err := torch.Try(func() error { f(); return nil })
			if err == nil || !strings.Contains(err.Error(), "no scope is open") {
				t.Errorf("%s: the error is %v", what, err)
			}
		}
		if left := torch.LiveHandles() - before; left != 0 {
			t.Errorf("%d tensors were lost", left)
		}
		torch.Free(kept...)
	})
}

func TestShapeMismatchNamesOperatorAndShapes(t *testing.T) {
	torch.Test(t, func() {
		x, y := torch.Zeros(torch.Float32, device, 2, 3), torch.Zeros(torch.Float32, device, 4, 5)
		ids, onHost := torch.FromInt64s([]int64{7}, device, 1), torch.FromInt64s([]int64{7}, torch.CPU, 1)
		for op, f := range map[string]func(){
			"Add of shapes [2 3], [4 5]: ":          func() { x.Add(y) },
			"MatMul of shapes [2 3], [4 5]: ":       func() { x.MatMul(y) },
			"Cat of shapes [2 3], [4 5]: ":          func() { torch.Cat([]torch.Tensor{x, y}, 0) },
			"Cat: ":                                 func() { torch.Cat(nil, 0) },
			"Stack of shapes [2 3], [4 5]: ":        func() { torch.Stack([]torch.Tensor{x, y}, 0) },
			"Stack: ":                               func() { torch.Stack(nil, 0) },
			"Linear of shapes [2 3], [4 5]: ":       func() { torch.Linear(x, y, torch.Tensor{}) },
			"Reshape of shapes [2 3]: ":             func() { x.Reshape(5, -1) },
			"Narrow of shapes [2 3]: ":              func() { x.Narrow(1, 2, 2) },
			"Transpose of shapes [2 3]: ":           func() { x.Transpose(0, 2) },
			"Permute of shapes [2 3]: ":             func() { x.Permute(0) },
			"Embedding of shapes [2 3], [1]: ":      func() { torch.Embedding(x, onHost, -1) },
			"IndexSelect of shapes [2 3], [1]: ":    func() { x.IndexSelect(2, ids) },
			"Gather of shapes [2 3], [1]: ":         func() { x.Gather(0, ids) },
			"ScatterRows of shapes [2 3], [1]: ":    func() { x.ScatterRows(ids, 5) },
			"Size of shapes [2 3]: ":                func() { x.Size(2) },
			"Item of shapes [2 3]: ":                func() { x.Item() },
			"Backward of shapes [2 3]: ":            func() { x.Backward() },
			"BackwardWith of shapes [2 3], [4 5]: ": func() { x.BackwardWith(y) },
			"Assign of shapes [2 3], [4 5]: ":       func() { x.Assign(y) },
			"AssignFloat32s of shapes [2 3]: ":      func() { x.AssignFloat32s(make([]float32, 5)) },
			"Dropout of shapes [1]: ":               func() { torch.Dropout(ids, 0.5, torch.NewStream(1, "")) },
			"FromFloat32s: 3 elements do not fill":  func() { torch.FromFloat32s(make([]float32, 3), device, 2, 2) },
			"Uniform: the range": func() {
				torch.NewStream(1, "").Uniform(1, 0, torch.Float32,
					device, 1)
			},
			"SetRequiresGrad of shapes [1]: ": func() { ids.SetRequiresGrad(true) },
		} {
			e := failure(t, f)
			text := e.Error()
			if !strings.HasPrefix(text, op) || strings.Contains(text, "\n") || errors.Is(e, torch.ErrOutOfMemory) {
				t.Errorf("the error is %q, want one line that begins with %q", text, op)
			}
		}
		fractions := torch.Full(1.7, torch.Float32, device, 3)
		if text := failure(t, func() { torch.Embedding(x, fractions, -1) }).Error(); text !=
			"Embedding of shapes [2 3], [3]: ids must be int64, not Float" {
			t.Errorf("the error is %q", text)
		}
		if text := failure(t, func() { x.Add(torch.Tensor{}) }).Error(); !strings.HasPrefix(text, "Add: an operand is no tensor") {
			t.Errorf("the error is %q", text)
		}
	})
}

// TestHistoryIsNoParameter: a computed tensor would never be trained.
func TestHistoryIsNoParameter(t *testing.T) {
	torch.Test(t, func() {
		x := torch.Full(2, torch.Float32, device, 3)
		x.SetRequiresGrad(true)
		y := x.Square()
		for _, f := range []func(){func() { torch.Parameter(y) }, func() { y.SetRequiresGrad(false) }} {
			if text := failure(t, f).Error(); !strings.Contains(text, "detach it first") {
				t.Errorf("the error is %q", text)
			}
		}
		var p torch.Params
		p.Add("y", torch.Parameter(y.Detach()))
		defer p.Free()
		if text := failure(t, func() { p.Add("y", x) }).Error(); !strings.Contains(text, "the name y is taken") {
			t.Errorf("the error is %q", text)
		}
		failure(t, func() { p.Add("ids", torch.Arange(3, device)) })
		if names := p.Names(); !slices.Equal(names, []string{"y"}) || p.Count() != 3 {
			t.Errorf("after a refused parameter the names are %v", names)
		}
	})
}

// TestTooLarge asks for more memory than any machine has, and than this one can
// have promised.
func TestTooLarge(t *testing.T) {
	torch.Test(t, func() {
		column := torch.Zeros(torch.Float32, device, 1<<22, 1)
		for what, f := range map[string]func(){
			"2^50 bytes":           func() { torch.Zeros(torch.Float32, device, 1<<48) },
			"2^47 bytes":           func() { torch.Zeros(torch.Float64, device, 1<<44) },
			"2^44 bytes":           func() { torch.Zeros(torch.Float32, device, 1<<42) },
			"a sum, of gotorch":    func() { column.Add(column.Transpose(0, 1)) },
			"a product":            func() { column.MatMul(column.Transpose(0, 1)) },
			"the draw of a stream": func() { torch.NewStream(1, "").Normal(0, 1, torch.Float32, device, 1<<45) },
			"an index, of gotorch": func() {
				column.Expand(1<<22, 1<<20).IndexSelect(0, torch.FromInt64s([]int64{0}, device, 1).Expand(1<<22))
			},
		} {
			before := torch.LiveBytes()
			s := torch.OpenScope()
			e := failure(t, f)
			s.Close()
			if !e.OutOfMemory || !errors.Is(e, torch.ErrOutOfMemory) {
				t.Errorf("%s: %v is not known as lack of memory", what, e)
			}
			if torch.LiveBytes() != before {
				t.Errorf("%s: %d bytes were lost", what, torch.LiveBytes()-before)
			}
		}
		if torch.Full(3, torch.Float32, device, 2).Sum().Item() != 6 {
			t.Error("the package does not work after a refusal")
		}
	})
}

// TestWithin: what passes the bound fails as it does where memory ends, and the bound ends with the call.
func TestWithin(t *testing.T) {
	torch.Test(t, func() {
		zeros := func(bytes int64) func() error {
			return func() error { torch.Zeros(torch.Float32, torch.CPU, bytes/4); return nil }
		}
		for _, c := range []struct{ bound, bytes int64 }{{1 << 20, 1 << 19}, {1 << 20, 1 << 22}, {1 << 22, 1 << 21}} {
			err := torch.Within(c.bound, zeros(c.bytes))
			if errors.Is(err, torch.ErrOutOfMemory) != (c.bytes > c.bound) || (err != nil) != (c.bytes > c.bound) {
				t.Errorf("%d bytes within %d: %v", c.bytes, c.bound, err)
			}
		}
		if err := zeros(1 << 24)(); err != nil {
			t.Error(err)
		}
	})
}

func TestScopesCloseInAnyOrder(t *testing.T) {
	torch.Test(t, func() {
		start := torch.LiveHandles()
		zero := func() torch.Tensor { return torch.Zeros(torch.Float32, device, 1) }
		outer := torch.OpenScope()
		a := zero()
		middle := torch.OpenScope()
		b := zero()
		inner := torch.OpenScope()
		c := zero()
		middle.Close() // takes inner with it
		if !a.Defined() || b.Defined() || c.Defined() {
			t.Error("closing the middle scope did not free it and the inner one alone")
		}
		inner.Close()
		middle.Close()
		d := zero() // belongs to outer
		if !d.Defined() {
			t.Error("no tensor can be made after scopes were closed out of order")
		}
		outer.Close()
		outer.Close()
		if d.Defined() || torch.LiveHandles() != start {
			t.Errorf("%d tensors are left", torch.LiveHandles()-start)
		}
		if e := zero(); !e.Defined() {
			t.Error("the scope around does not work any more")
		}
	})
}

func TestKeepAndFree(t *testing.T) {
	torch.Test(t, func() {
		start := torch.LiveHandles()
		s := torch.OpenScope()
		x, y := torch.Zeros(torch.Float32, device, 2), torch.Zeros(torch.Float32, device, 2)
		same := x
		torch.Keep(x, x)
		torch.Free(y)
		torch.Free(y)
		if y.Defined() {
			t.Error("a freed tensor is defined")
		}
		s.Close()
		if !same.Defined() || torch.LiveHandles() != start+1 {
			t.Error("a kept tensor did not outlive its scope alone")
		}
		torch.Free(x)
		torch.Free(same)
		if same.Defined() || torch.LiveHandles() != start {
			t.Error("a freed tensor lives on")
		}
	})
}

// TestScopedMovesWhatItMade and leaves alone what others own.
func TestScopedMovesWhatItMade(t *testing.T) {
	torch.Test(t, func() {
		start := torch.LiveHandles()
		around := torch.OpenScope()
		mine := torch.Full(2, torch.Float32, device, 1)
		kept := torch.Parameter(torch.Full(3, torch.Float32, device, 1))
		inside := torch.OpenScope()
		var lost torch.Tensor
		made := torch.Scoped(func() torch.Tensor {
			lost = mine.Add(mine)
			return lost.Mul(kept)
		})
		deeper := torch.Scoped(func() torch.Tensor { torch.OpenScope(); return mine.Neg() }) // its scope stays open
		if lost.Defined() || made.Item() != 12 || deeper.Item() != -2 {
			t.Error("Scoped kept something else than its result")
		}
		for _, x := range []torch.Tensor{mine, kept} {
			if torch.Scoped(func() torch.Tensor { return x }) != x {
				t.Error("Scoped returned another tensor")
			}
		}
		failure(t, func() { torch.Scoped(func() torch.Tensor { return torch.Tensor{} }) })
		inside.Close()
		if made.Defined() || deeper.Defined() || !mine.Defined() || !kept.Defined() {
			t.Error("Scoped changed the owner of a tensor that it did not make")
		}
		around.Close()
		if mine.Defined() || !kept.Defined() {
			t.Error("Scoped changed the owner of a tensor that it did not make")
		}
		torch.Free(kept)
		if left := torch.LiveHandles() - start; left != 0 {
			t.Errorf("%d tensors are left", left)
		}
	})
}

// TestTryClosesScopes that an error left open.
func TestTryClosesScopes(t *testing.T) {
	torch.Test(t, func() {
		before := torch.LiveHandles()
		var x torch.Tensor
		failure(t, func() {
			torch.OpenScope()
			torch.OpenScope()
			x = torch.Zeros(torch.Float32, device, 2)
			x.Reshape(3)
		})
		if x.Defined() || torch.LiveHandles() != before {
			t.Error("the scopes of a failed function live on")
		}
		own := errors.New("an error of its own")
		if err := torch.Try(func() error { return own }); err != own {
			t.Errorf("Try returned %v", err)
		}
		defer func() {
			if recover() != "other" {
				t.Error("Try swallowed a panic that is none of its own")
			}
		}()
		torch.Try(func() error { panic("other") })
	})
}

// TestScopedStates: what belongs to the states stays, and, with pieces that run once more, what those read.
func TestScopedStates(t *testing.T) {
	torch.Test(t, func() {
		x := torch.Full(2, torch.Float32, device, 1)
		for _, again := range []*torch.Recomputation{nil, {}} {
			var other torch.Tensor
			before := torch.LiveHandles()
			states := torch.ScopedStates(func() torch.States {
				other = x.Neg()
				return torch.States{Hidden: other.Exp(), Raw: x, Terms: []torch.Term{{Name: "square", Value: x.Square()}},
					Recomputation: again}
			})
			if !states.Hidden.Defined() || states.Raw != x || !x.Defined() || states.Terms[0].Value.Item() != 4 {
				t.Error("a part of the states is missing")
			}
			if states.Attention.Defined() || other.Defined() != (again != nil) {
				t.Errorf("what gave the states is there: %v, want %v", other.Defined(), again != nil)
			}
			want := int64(2)
			if again != nil {
				want = 3
			}
			if made := torch.LiveHandles() - before; made != want {
				t.Errorf("%d tensors are there, want %d", made, want)
			}
		}
	})
}
