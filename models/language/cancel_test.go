package language_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aperture-ml/aperture/models/language"
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

// countTo makes a context that is cancelled when it is asked for that time.
func countTo(t *testing.T, last int64) *countdown {
	ctx, cancel := context.WithCancelCause(t.Context())
	c := &countdown{Context: ctx, cancel: cancel}
	c.last.Store(last)
	return c
}

// A cancelled context ends a call with its cause: before it begins, while it waits for its turn, and between two chunks
// or words.
func TestCancel(t *testing.T) {
	m := openCounts(t)
	text := strings.Join(counting(6, 2000, 20), "\n")
	o := language.SampleOptions{Words: 200, Temperature: 1}
	before := sample(t, m, "three", o)
	for name, call := range map[string]func(ctx context.Context) error{
		"Score": func(ctx context.Context) error {
			score, err := m.Score(ctx, text)
			if err != nil && score != (language.Score{}) {
				t.Errorf("an error and the score %+v", score)
			}
			return err
		},
		"Predict": func(ctx context.Context) error {
			p, err := m.Predict(ctx, text, 3)
			if err != nil && (p.Words != nil || p.Next != nil) {
				t.Errorf("an error and %d words", len(p.Words))
			}
			return err
		},
		"Sample": func(ctx context.Context) error {
			text, err := m.Sample(ctx, "three", o)
			if err != nil && text != "" {
				t.Errorf("an error and the text %q", text)
			}
			return err
		},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errStop)
		if err := call(ctx); err != errStop {
			t.Errorf("%s with a cancelled context: %v", name, err)
		}

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

		whole := countTo(t, -1)
		if err := call(whole); err != nil || whole.asked.Load() < 10 {
			t.Errorf("a whole %s asks its context %d times, %v", name, whole.asked.Load(), err)
		}
		for _, last := range []int64{3, 7} {
			c := countTo(t, last)
			if err := call(c); err != errStop || c.asked.Load() > last+3 { // and for the cause
				t.Errorf("cancelled when it asked its context for the time %d, %s asked %d times, %v", last, name,
					c.asked.Load(), err)
			}
		}
	}
	torch.Test(t, func() {
		if ids := m.Continue(countTo(t, 5), []int32{0}, o); len(ids) != 4 {
			t.Errorf("cancelled before the fifth word, %d words follow", len(ids))
		}
	})
	if after := sample(t, m, "three", o); after != before {
		t.Error("after calls that were cancelled the text is another")
	}
}

// After Close every call fails, and calls that run meanwhile are whole or fail.
func TestClose(t *testing.T) {
	m := openCounts(t)
	want := score(t, m, "three four")
	const says = "the model has been closed"
	var wait sync.WaitGroup
	for k := range 8 {
		wait.Go(func() {
			if k == 4 {
				if err := m.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			}
			got, err := m.Score(t.Context(), "three four")
			if err != nil && err.Error() == says {
				return
			}
			if err != nil || k == 4 || got != want {
				t.Errorf("while it is closed: %+v, %v", got, err)
			}
		})
	}
	wait.Wait()
	_, scored := m.Score(t.Context(), "three four")
	_, drawn := m.Sample(t.Context(), "three", language.SampleOptions{})
	for what, err := range map[string]error{"Score": scored, "Sample": drawn, "a second Close": m.Close()} {
		if err == nil || err.Error() != says {
			t.Errorf("%s after Close: %v", what, err)
		}
	}
}
