package translation_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/torch"
)

// countdown is cancelled when it is asked for the last of the given number of times.
type countdown struct {
	context.Context
	asked, last atomic.Int64
	cancel      context.CancelCauseFunc
}

func (c *countdown) Err() error {
	if c.asked.Add(1) == c.last.Load() {
		c.cancel(errStop)
	}
	return c.Context.Err()
}

var errStop = errors.New("stop here")

// A cancelled context ends a call with its cause: before it begins, while it waits for its turn, and between two words.
func TestCancel(t *testing.T) {
	made := openDigits(t)
	source, _ := numbers(10, 40, 10)
	want := translate(t, made, source, decode.Options{})
	calls := map[string]func(ctx context.Context) error{
		"Translate": func(ctx context.Context) error {
			out, err := made.Translate(ctx, source, decode.Options{})
			if err != nil && out != nil {
				t.Errorf("an error and %d translations", len(out))
			}
			return err
		},
		"TranslateNBest": func(ctx context.Context) error {
			_, err := made.TranslateNBest(ctx, source, decode.Options{})
			return err
		},
		"Force": func(ctx context.Context) error {
			_, err := made.Force(ctx, source, source, made.Settings.Decode)
			return err
		},
	}
	for name, call := range calls {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errStop)
		if err := call(ctx); err != errStop {
			t.Errorf("%s with a cancelled context: %v", name, err)
		}
		ctx, stop := context.WithTimeout(t.Context(), -time.Second)
		if err := call(ctx); err != context.DeadlineExceeded {
			t.Errorf("%s after its deadline: %v", name, err)
		}
		stop()

		// The torch thread is busy until the call has ended.
		ctx, cancel = context.WithCancelCause(t.Context())
		busy, release, ended := make(chan bool), make(chan bool), make(chan bool)
		go torch.Do(func() {
			close(busy)
			select {
			case <-release:
			case <-time.After(time.Minute):
				t.Errorf("%s waited on, though it was cancelled", name)
			}
		})
		<-busy
		go func() {
			defer close(ended)
			if err := call(ctx); err != errStop {
				t.Errorf("%s cancelled while it waited: %v", name, err)
			}
		}()
		cancel(errStop)
		<-ended
		close(release)
	}

	o := made.Settings.Decode
	o.BatchSentences = 1
	search := func(last int64) (int64, error) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		c := &countdown{Context: ctx, cancel: cancel}
		c.last.Store(last)
		_, err := made.Translate(c, source, o)
		return c.asked.Load(), err
	}
	all, err := search(-1)
	if err != nil || all < 200 {
		t.Fatalf("a whole search asks its context %d times, %v", all, err)
	}
	for _, last := range []int64{3, 50, 151} {
		if asked, err := search(last); err != errStop || asked > last+1 { // once more for the cause
			t.Errorf("cancelled when it asked its context for the time %d, the search asked %d times, %v", last, asked,
				err)
		}
	}
	// Given translations are scored batch by batch.
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	c := &countdown{Context: ctx, cancel: cancel}
	c.last.Store(20)
	if scores, err := made.Force(c, source, source, o); err != errStop || scores != nil {
		t.Errorf("cancelled between two batches, Force gives %d scores, %v", len(scores), err)
	}
	if diff := cmp.Diff(want, translate(t, made, source, decode.Options{}), errorsByText); diff != "" {
		t.Errorf("after calls that were cancelled:\n%s", diff)
	}
}

// After Close every call fails, and calls that run meanwhile are whole or fail.
func TestClose(t *testing.T) {
	made := openDigits(t)
	source, _ := numbers(14, 4, 10)
	want := translate(t, made, source, decode.Options{})
	const says = "the model has been closed"
	var wait sync.WaitGroup
	for k := range 8 {
		wait.Go(func() {
			if k == 4 {
				if err := made.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			}
			out, err := made.Translate(t.Context(), source, decode.Options{})
			if err != nil && err.Error() == says {
				return
			}
			if diff := cmp.Diff(want, out, errorsByText); err != nil || k == 4 || diff != "" {
				t.Errorf("while it is closed: %v\n%s", err, diff)
			}
		})
	}
	wait.Wait()
	_, translated := made.Translate(t.Context(), source, decode.Options{})
	_, listed := made.TranslateNBest(t.Context(), nil, decode.Options{})
	_, forced := made.Force(t.Context(), source, source, made.Settings.Decode)
	for what, err := range map[string]error{"Translate": translated, "TranslateNBest": listed, "Force": forced,
		"a second Close": made.Close()} {
		if err == nil || err.Error() != says {
			t.Errorf("%s after Close: %v", what, err)
		}
	}
}
