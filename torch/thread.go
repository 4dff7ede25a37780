package torch

// #include "api.h"
import "C"

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// All work with tensors runs on one locked OS thread: libtorch keeps state and
// pools of workers by thread, and goroutines wander.
var executor struct {
	once sync.Once
	jobs chan *job
	tid  atomic.Int64 // of the torch thread, 0 while there is none
}

type job struct {
	body   func()
	done   chan struct{}
	panic  any
	goexit bool
}

func onTorchThread() bool { return executor.tid.Load() == int64(syscall.Gettid()) }

func work() {
	runtime.LockOSThread()
	executor.tid.Store(int64(syscall.Gettid()))
	C.ap_enter_thread()
	for j := range executor.jobs {
		// A body that ends its goroutine (testing's FailNow does) takes the
		// thread with it; the next job finds a fresh one.
		if j.run() {
			return
		}
	}
}

func (j *job) run() (ended bool) {
	normal, before := false, current
	defer func() {
		if !normal {
			j.panic = recover()
			unwind(before)
			if j.panic == nil {
				j.goexit, ended = true, true
				executor.tid.Store(0)
				go work()
			} else if _, known := j.panic.(*Error); !known {
				j.panic = &Crossed{j.panic, debug.Stack()}
			}
		}
		close(j.done)
	}()
	j.body()
	normal = true
	return false
}

// Crossed is what Do panics with when body panicked with something else than an
// *Error: Value, and the stack of the place that raised it.
type Crossed struct {
	Value any
	Stack []byte
}

func (c *Crossed) Error() string { return fmt.Sprintf("%v\n\n%s", c.Value, c.Stack) }

// Do runs body on the torch thread and waits for it. Called on that thread it just runs body. A panic of body is raised
// again in the caller: an *Error as it is, anything else as *Crossed. Scopes that body opened and did not close by then
// are closed. Where the processor, or APERTURE_ISA, lets nothing be computed it panics with an *Error that says so.
func Do(body func()) { submit(context.Background(), body) }

// Queue runs body on the torch thread and returns its error, as [Try] does. Where ctx is cancelled before body's turn
// has come, Queue returns ctx's cause at once and body never runs; once it runs, body watches ctx itself. Called on the
// torch thread it just runs body. It may be called from any goroutine.
func Queue(ctx context.Context, body func() error) (err error) {
	if ctx.Err() != nil || !submit(ctx, func() { err = Try(body) }) {
		return context.Cause(ctx)
	}
	return err
}

// submit is Do that is false where ctx is cancelled before body's turn has come.
func submit(ctx context.Context, body func()) bool {
	if onTorchThread() {
		body()
		return true
	}
	if refused != nil {
		fail("Do", refused.Error(), false)
	}
	executor.once.Do(func() {
		executor.jobs = make(chan *job)
		go work()
	})
	j := &job{body: body, done: make(chan struct{})}
	select {
	case executor.jobs <- j: // the thread has it, and begins
	case <-ctx.Done():
		return false
	}
	<-j.done
	if j.goexit { // body ended its goroutine, as testing's FailNow does: so does the caller
		runtime.Goexit()
	}
	if j.panic != nil {
		panic(j.panic)
	}
	return true
}

// Main runs a program's body on the torch thread and returns its error; an *Error that the body panics with is returned
// too, and so is what is wrong with the processor, with APERTURE_ISA (a *BadISA) or with the library.
func Main(body func() error) (err error) {
	if refused != nil {
		return refused
	}
	Do(func() { err = Try(body) })
	return err
}

// Test runs the body of a test on the torch thread, inside a scope of its own,
// and fails the test when tensors outlive it.
func Test(t testing.TB, body func()) {
	t.Helper()
	Do(func() {
		before := LiveHandles()
		s := OpenScope()
		defer s.Close()
		body()
		s.Close()
		if left := LiveHandles() - before; left != 0 && !t.Failed() {
			t.Errorf("%d tensors outlived the test's scope", left)
		}
	})
}
