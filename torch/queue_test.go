package torch_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aperture-ml/aperture/torch"
)

// busy keeps the torch thread at work until release is called.
func busy(t *testing.T) (release func()) {
	t.Helper()
	begun, end, ended := make(chan bool), make(chan bool), make(chan bool)
	go func() {
		defer close(ended)
		torch.Do(func() {
			close(begun)
			select {
			case <-end:
			case <-time.After(time.Minute):
				t.Error("the torch thread was waited for in vain")
			}
		})
	}()
	<-begun
	return func() {
		close(end)
		<-ended
	}
}

// TestQueueRuns: the body computes on the torch thread, and its error is Queue's.
func TestQueueRuns(t *testing.T) {
	before := torch.LiveHandles()
	sum := 0.0
	err := torch.Queue(t.Context(), func() error {
		scope := torch.OpenScope() // which only the torch thread may
		defer scope.Close()
		sum = torch.Full(2, torch.Float32, device, 3).Sum().Item()
		return nil
	})
	if err != nil || sum != 6 {
		t.Errorf("the sum is %v, %v", sum, err)
	}
	want := errors.New("an error of its own")
	if err := torch.Queue(t.Context(), func() error { return want }); err != want {
		t.Errorf("Queue returned %v", err)
	}
	var e *torch.Error
	err = torch.Queue(t.Context(), func() error {
		torch.OpenScope() // and the panic closes it
		torch.Zeros(torch.Float32, device, 2).Reshape(3)
		return nil
	})
	if !errors.As(err, &e) || e.Op != "Reshape" {
		t.Errorf("an operator's error arrived as %v", err)
	}
	if left := torch.LiveHandles() - before; left != 0 {
		t.Errorf("%d tensors were lost", left)
	}
}

// TestQueuePanics: what is no *Error is raised again in the caller, with its value and its place, and the thread goes
// on.
func TestQueuePanics(t *testing.T) {
	crossed := func(body func()) (value any) {
		defer func() { value = recover() }()
		err := torch.Queue(t.Context(), func() error { body(); return nil })
		t.Errorf("Queue returned, with %v", err)
		return nil
	}
	c, ok := crossed(func() { panic("enough") }).(*torch.Crossed)
	if !ok || c.Value != "enough" || !strings.Contains(c.Error(), "TestQueuePanics") {
		t.Errorf("a panic arrived as %v", c)
	}
	var list []int
	c, ok = crossed(func() { list[len(list)]++ }).(*torch.Crossed)
	if !ok {
		t.Fatalf("a runtime error arrived as %v", c)
	}
	if _, isRuntime := c.Value.(runtime.Error); !isRuntime {
		t.Errorf("a runtime error arrived with %v", c.Value)
	}
	if err := torch.Queue(t.Context(), func() error { return nil }); err != nil {
		t.Errorf("after panics: %v", err)
	}
}

// TestQueueCancelledBefore: the body of a cancelled context never runs, on the torch thread neither.
func TestQueueCancelledBefore(t *testing.T) {
	cause := errors.New("stop here")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	body := func() error { t.Error("the body ran"); return nil }
	if err := torch.Queue(ctx, body); err != cause {
		t.Errorf("Queue returned %v", err)
	}
	torch.Do(func() {
		if err := torch.Queue(ctx, body); err != cause {
			t.Errorf("on the torch thread Queue returned %v", err)
		}
	})
	late, stop := context.WithTimeout(t.Context(), -time.Second)
	defer stop()
	if err := torch.Queue(late, body); err != context.DeadlineExceeded {
		t.Errorf("after the deadline Queue returned %v", err)
	}
}

// TestQueueCancelledWhileWaiting: Queue returns at once, though the thread is busy, and the body never runs.
func TestQueueCancelledWhileWaiting(t *testing.T) {
	cause := errors.New("stop here")
	release := busy(t)
	const callers = 8
	var wait sync.WaitGroup
	ctx, cancel := context.WithCancelCause(t.Context())
	for range callers {
		wait.Go(func() {
			err := torch.Queue(ctx, func() error { t.Error("the body ran"); return nil })
			if err != cause {
				t.Errorf("Queue returned %v", err)
			}
		})
	}
	short, stop := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer stop()
	if err := torch.Queue(short, func() error { t.Error("the body ran"); return nil }); err != context.DeadlineExceeded {
		t.Errorf("at the deadline Queue returned %v", err)
	}
	cancel(cause)
	wait.Wait() // while the thread is busy
	release()
	// Those who waited no longer have left nothing that comes first.
	for range callers + 1 {
		if err := torch.Queue(t.Context(), func() error { return nil }); err != nil {
			t.Error(err)
		}
	}
}

// TestQueueCancelledWhileRunning: a body that runs is waited for, and what it makes of the context is Queue's result.
func TestQueueCancelledWhileRunning(t *testing.T) {
	cause := errors.New("stop here")
	for _, heeds := range []bool{true, false} {
		ctx, cancel := context.WithCancelCause(t.Context())
		finished := false
		err := torch.Queue(ctx, func() error {
			cancel(cause)
			time.Sleep(5 * time.Millisecond)
			finished = true
			if heeds {
				return context.Cause(ctx)
			}
			return nil
		})
		if !finished || heeds && err != cause || !heeds && err != nil {
			t.Errorf("a body that heeds the context, %v: it finished, %v, and Queue returned %v", heeds, finished, err)
		}
	}
}

// TestQueueNested: on the torch thread the body runs at once.
func TestQueueNested(t *testing.T) {
	want := errors.New("from below")
	depth := 0
	err := torch.Queue(t.Context(), func() error {
		return torch.Queue(t.Context(), func() error {
			depth = 2
			var e *torch.Error
			if err := torch.Queue(t.Context(), func() error { torch.Zeros(torch.Float32, device, 1); return nil }); !errors.As(err, &e) {
				t.Errorf("without a scope: %v", err)
			}
			return want
		})
	})
	if err != want || depth != 2 {
		t.Errorf("depth %d, %v", depth, err)
	}
}

// TestQueueManyGoroutines: bodies share one thread, one after the other, and each caller has its own result.
func TestQueueManyGoroutines(t *testing.T) {
	var wait sync.WaitGroup
	inside, ran := 0, 0 // only the torch thread touches them
	for i := range 60 {
		wait.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%3 == 2 { // some are cancelled at any time
				go cancel()
			}
			got := 0.0
			err := torch.Queue(ctx, func() error {
				if inside++; inside != 1 {
					t.Error("two bodies run at once")
				}
				scope := torch.OpenScope()
				got = torch.Full(float64(i), torch.Float32, device, 1).Item()
				scope.Close()
				inside--
				ran++
				return nil
			})
			if err == nil && got != float64(i) || err != nil && (i%3 != 2 || err != context.Canceled || got != 0) {
				t.Errorf("goroutine %d got %v, %v", i, got, err)
			}
		})
	}
	wait.Wait()
	torch.Do(func() {
		if ran < 40 || ran > 60 {
			t.Errorf("%d bodies ran, of which at least 40 were not cancelled", ran)
		}
	})
}
