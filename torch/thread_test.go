package torch_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aperture-ml/aperture/torch"
)

func TestOpenScopeOutsideTheThread(t *testing.T) {
	if text := failure(t, func() { torch.OpenScope() }).Error(); !strings.Contains(text, "OpenScope: called outside torch.Main") {
		t.Errorf("the error is %q", text)
	}
}

// TestOperatorsOutsideTheThread: a goroutine that a body starts is on another one.
func TestOperatorsOutsideTheThread(t *testing.T) {
	torch.Test(t, func() {
		x := torch.Zeros(torch.Float32, device, 2, 2)
		before, bytes := torch.LiveHandles(), torch.LiveBytes()
		done := make(chan bool)
		go func() {
			defer close(done)
			for op, f := range everyKind(x) {
				switch op {
				case "Add", "TopK", "Exp", "QR", "Stack", "Cat", "Permute", "Linear":
					if text := failure(t, f).Error(); !strings.HasPrefix(text, op) ||
						!strings.Contains(text, "called outside torch.Main") {
						t.Errorf("%s: the error is %q", op, text)
					}
				}
			}
		}()
		<-done
		// None waits for the collector either.
		if h, b := torch.LiveHandles()-before, torch.LiveBytes()-bytes; h != 0 || b != 0 {
			t.Errorf("%d tensors and %d bytes were lost", h, b)
		}
	})
}

func TestDoNestedRunsAtOnce(t *testing.T) {
	depth := 0
	torch.Do(func() {
		torch.Do(func() {
			torch.Do(func() { depth = 3 })
		})
		if depth != 3 {
			t.Error("a nested body did not run at once")
		}
	})
}

// TestDoOneAtATime: bodies from many goroutines share one thread.
func TestDoOneAtATime(t *testing.T) {
	var wait sync.WaitGroup
	sum := 0.0 // only the torch thread touches it
	for i := range 50 {
		wait.Go(func() {
			torch.Do(func() {
				s := torch.OpenScope()
				defer s.Close()
				sum += torch.Full(float64(i), torch.Float32, device, 1).Item()
			})
		})
	}
	wait.Wait()
	if sum != 49*50/2 {
		t.Errorf("the sum is %v", sum)
	}
}

func TestPanicsCrossDo(t *testing.T) {
	var left torch.Tensor
	var scope *torch.Scope
	crossed := func(f func()) (value any) {
		defer func() { value = recover() }()
		torch.Do(func() {
			scope = torch.OpenScope()
			left = torch.Zeros(torch.Float32, device, 2)
			f()
		})
		return nil
	}
	if e, ok := crossed(func() { left.Reshape(3) }).(*torch.Error); !ok || e.Op != "Reshape" {
		t.Errorf("an *Error arrived as %v", e)
	}
	var list []int
	c, ok := crossed(func() { list[len(list)]++ }).(*torch.Crossed)
	if !ok {
		t.Fatalf("a runtime error arrived as %v", c)
	}
	if _, isRuntime := c.Value.(runtime.Error); !isRuntime || !strings.Contains(c.Error(), "TestPanicsCrossDo") ||
		!strings.Contains(c.Error(), "index out of range") {
		t.Errorf("a runtime error arrived without its value or its place: %v", c)
	}
	if left.Defined() {
		t.Error("a panic left its scope open")
	}
	if crossed(func() {}) != nil || !left.Defined() {
		t.Error("a body without panic must leave its scopes as they are")
	}
	torch.Do(func() { scope.Close() })
}

func TestMainReturnsErrors(t *testing.T) {
	want := errors.New("an error of its own")
	if err := torch.Main(func() error { return want }); err != want {
		t.Errorf("Main returned %v", err)
	}
	var e *torch.Error
	if err := torch.Main(func() error { torch.Zeros(torch.Float32, device, 1); return nil }); !errors.As(err, &e) ||
		e.Op != "Full" {
		t.Errorf("Main returned %v", err)
	}
}

// recorder stands for a test that is watched.
type recorder struct {
	testing.TB
	failed bool
	text   string
}

func (r *recorder) Helper()      {}
func (r *recorder) Failed() bool { return r.failed }
func (r *recorder) FailNow()     { r.failed = true; runtime.Goexit() }
func (r *recorder) SkipNow()     { runtime.Goexit() }
func (r *recorder) Errorf(format string, args ...any) {
	r.failed, r.text = true, fmt.Sprintf(format, args...)
}

// TestEndOfTests: FailNow and Skip end a test's goroutine from inside torch.Test,
// with its scope, and the next test finds the thread at work.
func TestEndOfTests(t *testing.T) {
	before := torch.LiveHandles()
	for what, end := range map[string]func(testing.TB){
		"FailNow": func(r testing.TB) { r.FailNow() },
		"SkipNow": func(r testing.TB) { r.SkipNow() },
	} {
		r := &recorder{}
		ended, after := make(chan bool), false
		go func() {
			defer close(ended)
			torch.Test(r, func() {
				torch.OpenScope()
				torch.Zeros(torch.Float32, device, 2)
				end(r)
				after = true
			})
			after = true
		}()
		<-ended
		if after || r.failed != (what == "FailNow") {
			t.Errorf("%s did not end the test", what)
		}
		if left := torch.LiveHandles() - before; left != 0 {
			t.Errorf("%s left %d tensors", what, left)
		}
		torch.Test(t, func() {
			if torch.Full(2, torch.Float32, device, 8).Sum().Item() != 16 {
				t.Errorf("after %s operators are wrong", what)
			}
		})
	}
	r := &recorder{}
	var kept torch.Tensor
	torch.Test(r, func() {
		kept = torch.Zeros(torch.Float32, device, 2)
		torch.Keep(kept)
	})
	if !r.failed || r.text != "1 tensors outlived the test's scope" {
		t.Errorf("a tensor that outlived its test gave %q", r.text)
	}
	torch.Do(func() { torch.Free(kept) })
}

// network is a small classifier with every kind of state that training has.
type network struct {
	params *torch.Params
	adam   *torch.Adam
	draw   *torch.Stream
	drop   *torch.Stream
}

func newNetwork() *network {
	n := &network{params: &torch.Params{}, draw: torch.NewStream(1, "data"), drop: torch.NewStream(1, "dropout")}
	init := torch.NewStream(1, "init")
	n.params.Add("embedding", init.Normal(0, 1, torch.Float32, device, 31, 16))
	n.params.Add("weight", init.Normal(0, 0.3, torch.Float32, device, 16, 16))
	n.params.Add("gain", torch.Full(1, torch.Float32, device, 16))
	n.params.Add("bias", torch.Zeros(torch.Float32, device, 16))
	n.adam = torch.NewAdam(n.params.Tensors(), torch.AdamOptions{Beta1: 0.9, Beta2: 0.98, Epsilon: 1e-9})
	return n
}

func (n *network) free() {
	n.adam.Free()
	n.params.Free()
}

// step learns to say the word that it reads.
func (n *network) step() float64 {
	s := torch.OpenScope()
	defer s.Close()
	ids := n.draw.Uniform(0, 31, torch.Float64, device, 13).To(torch.Int64, device)
	h := torch.Embedding(n.params.Get("embedding"), ids, -1)
	y := torch.Linear(h, n.params.Get("weight"), torch.Tensor{}).Tanh()
	y = torch.ResidualNorm(y, h, n.params.Get("gain"), n.params.Get("bias"), 1e-5, 0.1, n.drop)
	loss, _ := torch.SoftmaxLoss(y, n.params.Get("embedding"), torch.Tensor{}, ids,
		torch.SoftmaxLossOptions{Ignore: -1, Scale: 1.0 / 13})
	loss.Backward()
	torch.ClipGrad(n.params.Tensors(), 1)
	n.adam.Step(0.01)
	torch.ZeroGrad(n.params.Tensors())
	return loss.Item()
}

func TestTrainingDoesNotGrow(t *testing.T) {
	torch.Test(t, func() {
		n := newNetwork()
		defer n.free()
		first := n.step()
		handles, bytes := torch.LiveHandles(), torch.LiveBytes()
		torch.ResetPeakBytes()
		n.step()
		peak := torch.PeakBytes()
		last := 0.0
		for range 100 {
			last = n.step()
		}
		if h, b := torch.LiveHandles()-handles, torch.LiveBytes()-bytes; h != 0 || b != 0 {
			t.Errorf("100 steps left %d tensors and %d bytes", h, b)
		}
		if torch.PeakBytes() > peak+4096 {
			t.Errorf("the peak of a step grew from %d to %d bytes", peak, torch.PeakBytes())
		}
		if !(last < first/2) {
			t.Errorf("the loss went from %v to %v: nothing was learnt", first, last)
		}
	})
}

// TestTrainingUnderGarbageCollection: tensors live by their scopes alone, so a
// collector that runs all the time changes nothing.
func TestTrainingUnderGarbageCollection(t *testing.T) {
	torch.Test(t, func() {
		run := func(steps int) (loss float64) {
			n := newNetwork()
			defer n.free()
			for range steps {
				loss = n.step()
			}
			return loss
		}
		quiet := run(200)
		stop, done := make(chan bool), make(chan bool)
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				default:
					runtime.GC()
				}
			}
		}()
		start := time.Now()
		if loud := run(200); loud != quiet {
			t.Errorf("with the collector at work the loss is %v, without it %v", loud, quiet)
		}
		n := newNetwork()
		defer n.free()
		bytes := torch.LiveBytes()
		n.step()
		growth := torch.LiveBytes() - bytes
		for range 1800 {
			n.step()
		}
		if torch.LiveBytes()-bytes > growth {
			t.Errorf("%d bytes were left", torch.LiveBytes()-bytes)
		}
		close(stop)
		<-done
		t.Logf("2000 steps took %v", time.Since(start))
	})
}
