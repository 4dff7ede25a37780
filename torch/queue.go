package torch

import (
	"context"
	"sync/atomic"
)

// Queue runs body on the torch thread and returns its error, as [Try] does. Where ctx is cancelled before body's turn has
// come, Queue returns ctx's cause at once and body never runs; once it runs, body watches ctx itself. Called on the torch
// thread it just runs body. It may be called from any goroutine.
func Queue(ctx context.Context, body func() error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if onTorchThread() {
		return Try(body)
	}
	type outcome struct {
		err      error
		panicked any
	}
	var taken atomic.Bool // by the thread, or by a caller who waits no longer
	done := make(chan outcome, 1)
	go func() {
		var out outcome
		defer func() {
			out.panicked = recover()
			done <- out
		}()
		Do(func() {
			if taken.CompareAndSwap(false, true) {
				out.err = Try(body)
			}
		})
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
	if out.panicked != nil {
		panic(out.panicked)
	}
	return out.err
}
