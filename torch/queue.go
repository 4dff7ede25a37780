package torch

import (
	"context"
	"runtime"
	"sync/atomic"
)

// Queue runs body on the torch thread and returns its error, as [Try] does. Where ctx is cancelled before body's turn
// has come, Queue returns ctx's cause at once and body never runs; once it runs, body watches ctx itself. Called on the
// torch thread it just runs body. It may be called from any goroutine.
func Queue(ctx context.Context, body func() error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if onTorchThread() {
		return Try(body)
	}
	type outcome struct {
		err           error
		panicked      any
		ended, goexit bool
	}
	var taken atomic.Bool // by the thread, or by a caller who waits no longer
	done := make(chan outcome, 1)
	go func() {
		var out outcome
		defer func() {
			out.panicked = recover()
			out.goexit = !out.ended && out.panicked == nil
			done <- out
		}()
		Do(func() {
			if taken.CompareAndSwap(false, true) {
				out.err = Try(body)
			}
		})
		out.ended = true
	}()
	var out outcome
	select {
	case out = <-done:
	case <-ctx.Done():
		if taken.CompareAndSwap(false, true) {
			return context.Cause(ctx)
		}
		out = <-done
	}
	switch {
	case out.panicked != nil:
		panic(out.panicked)
	case out.goexit: // the body ended its goroutine, as testing's FailNow does: so does the caller
		runtime.Goexit()
	}
	return out.err
}
