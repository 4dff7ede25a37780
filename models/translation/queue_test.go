package translation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/models/decode"
)

// TestTurns: calls take turns, a batch has room for its padded tokens and searches in one way, and a call that had its
// turn stands behind those that had none.
func TestTurns(t *testing.T) {
	var q queue
	q.init(&sync.Mutex{}, ServerOptions{Queue: 100, Tokens: 12})
	m := &served{}
	names := map[*job]string{}
	call := func(name string, beam int, lengths ...int) *job {
		j := newJob(context.Background(), m, decode.Options{Beam: beam, BatchSentences: 4})
		for i, n := range lengths {
			j.add(&sentence{ids: make([]int32, n-1)}, i, 0)
		}
		names[j] = name
		if err := q.add(j); err != nil {
			t.Fatal(err)
		}
		return j
	}
	next := func() string {
		var out []string
		for _, x := range q.take(m) {
			out = append(out, fmt.Sprint(names[x.job], x.length()))
		}
		return strings.Join(out, " ")
	}
	call("a", 1, 3, 3, 2)
	call("b", 1, 3)
	call("c", 2, 2, 2)
	d := call("d", 1, 5)
	call("e", 1, 20)
	f := call("f", 1, 1)
	q.drop(f)
	for i, want := range []string{"a3 b3 a3 a2", "c2 c2", "d5", "e20", ""} {
		if got := next(); got != want {
			t.Errorf("batch %d is %q, want %q", i, got, want)
		}
		if i == 0 && (q.sentences != 4 || q.tokens != 29 || q.jobs[0] == d) {
			t.Errorf("%d sentences and %d tokens wait", q.sentences, q.tokens)
		}
	}
	if q.sentences != 0 || q.tokens != 0 || len(q.jobs) != 0 {
		t.Errorf("%d sentences, %d tokens and %d calls are left", q.sentences, q.tokens, len(q.jobs))
	}
	// A long text and a short one that comes later: they share batches.
	call("long", 1, 2, 2, 2, 2, 2, 2, 2, 2)
	if got := next(); got != "long2 long2 long2 long2" {
		t.Errorf("alone it has %q", got)
	}
	call("short", 1, 2, 2)
	if got := next(); got != "long2 short2 long2 short2" {
		t.Errorf("beside another it has %q", got)
	}
}

// TestSpeedOfFailedBatch: a batch that fails does not change how long a full queue is said to last.
func TestSpeedOfFailedBatch(t *testing.T) {
	s := &Server{}
	s.queue.init(&s.mu, ServerOptions{Queue: 1, Tokens: 4096})
	s.queue.speed = 10
	m := &served{Translator: &Translator{}} // without a network: its search panics
	call := func() *job {
		j := newJob(context.Background(), m, decode.Options{BatchSentences: 1})
		j.found = make(chan answer, 1)
		j.add(&sentence{ids: make([]int32, 99)}, 0, 0)
		return j
	}
	first := call()
	if err := s.queue.add(first); err != nil {
		t.Fatal(err)
	}
	s.batch(m)
	if batch, err := new(BatchError), (<-first.found).failed; !errors.As(err, &batch) {
		t.Errorf("the batch ended with %v", err)
	}
	if err := s.queue.add(call()); err != nil {
		t.Fatal(err)
	}
	want := error(&BusyError{Waiting: 1, After: 10 * time.Second})
	if diff := cmp.Diff(want, s.queue.add(call())); diff != "" {
		t.Error(diff)
	}
	if got := want.Error(); got != "the queue is full with 1 waiting: try again in 10 s" {
		t.Error(got)
	}
}

// TestCancelledBatch: a call that is cancelled ends with its cause, also where its batch has failed meanwhile.
func TestCancelledBatch(t *testing.T) {
	errStop := errors.New("stop here")
	for range 20 { // of two that are ready select takes any
		s := &Server{active: map[*job]bool{}}
		s.queue.init(&s.mu, ServerOptions{Queue: 2, Tokens: 4096})
		j := newJob(context.Background(), &served{}, decode.Options{BatchSentences: 1})
		for i := range 2 {
			j.add(&sentence{ids: make([]int32, 9)}, i, 0)
		}
		go func() {
			for {
				s.mu.Lock()
				begun := s.active[j]
				s.mu.Unlock()
				if begun {
					j.found <- answer{}
					return
				}
			}
		}()
		err := s.do(j, func(place, []found, error) {
			j.cancel(errStop)
			j.found <- answer{failed: errAbandoned}
		})
		if err != errStop {
			t.Fatalf("it ends with %v", err)
		}
	}
}
