package translation

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// job is a call of [Server.Translate].
type job struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	model  *served
	search decode.Options

	waiting []queued // the longest first
	found   chan answer
	count   int // of answers that it gets
}

// place is where a sentence stands in a call.
type place struct{ text, piece int }

type queued struct {
	*sentence
	place
	job *job
}

// length is that of the source with its end.
func (q queued) length() int { return len(q.ids) + 1 }

// answer is what became of a sentence.
type answer struct {
	place
	list   []found
	err    error // of the sentence
	failed error // of its batch
}

func newJob(ctx context.Context, m *served, o decode.Options) *job {
	j := &job{model: m, search: o}
	j.ctx, j.cancel = context.WithCancelCause(ctx)
	return j
}

func (j *job) add(s *sentence, text, piece int) {
	j.waiting = append(j.waiting, queued{s, place{text, piece}, j})
}

// queue is what waits, by calls. Its server's lock guards it.
type queue struct {
	arrived   sync.Cond
	jobs      []*job // with sentences that wait, in the order of their turns
	sentences int
	tokens    int
	limit     int     // of sentences
	budget    int     // tokens of a batch
	speed     float64 // tokens a second, of the last batches that succeeded
}

func (q *queue) init(mu *sync.Mutex, o ServerOptions) {
	q.arrived.L, q.limit, q.budget = mu, o.Queue, o.Tokens
}

// add lets a call's sentences wait, or says that there is no room for them.
func (q *queue) add(j *job) error {
	if q.sentences > 0 && q.sentences+len(j.waiting) > q.limit {
		after := time.Second
		if q.speed > 0 {
			after = max(after, time.Duration(float64(q.tokens)/q.speed*float64(time.Second)))
		}
		return &BusyError{q.sentences, after}
	}
	for _, x := range j.waiting {
		q.tokens += x.length()
	}
	q.sentences += len(j.waiting)
	q.jobs = append(q.jobs, j)
	q.arrived.Signal()
	return nil
}

// drop takes out what still waits of a call.
func (q *queue) drop(j *job) {
	q.jobs = slices.DeleteFunc(q.jobs, func(x *job) bool { return x == j })
	for _, x := range j.waiting {
		q.tokens -= x.length()
	}
	q.sentences -= len(j.waiting)
	j.waiting = nil
}

// take makes a batch for a model of the calls that search as the first one does: a sentence of each call, then another
// one of each, until it is full.
func (q *queue) take(m *served) (batch []queued) {
	var key *job
	longest, most := 0, 1
	full := map[*job]bool{} // calls whose next sentence has no room, or that search otherwise
	for took := true; took && len(batch) < most; {
		took = false
		for _, j := range q.jobs {
			if j.model != m || len(j.waiting) == 0 || full[j] || len(batch) == most {
				continue
			}
			if key == nil {
				key, most = j, j.search.BatchSentences
			}
			next := j.waiting[0]
			length := max(longest, next.length())
			if j.search != key.search || len(batch) > 0 && length*(len(batch)+1) > q.budget {
				full[j] = true
				continue
			}
			longest, took = length, true
			batch, j.waiting = append(batch, next), j.waiting[1:]
			q.sentences, q.tokens = q.sentences-1, q.tokens-next.length()
		}
	}
	// Calls that have had a turn stand behind those that have not.
	served := map[*job]bool{}
	for _, x := range batch {
		served[x.job] = true
	}
	q.jobs = slices.DeleteFunc(q.jobs, func(j *job) bool { return len(j.waiting) == 0 })
	slices.SortStableFunc(q.jobs, func(a, b *job) int {
		turn := func(j *job) int {
			if served[j] {
				return 1
			}
			return 0
		}
		return cmp.Compare(turn(a), turn(b))
	})
	return batch
}

// do has a call's sentences translated, and hands what was found to write in the calling goroutine, sentence by
// sentence. Where some do not get into the queue, none does.
func (s *Server) do(j *job, write func(at place, list []found, err error)) error {
	slices.SortStableFunc(j.waiting, func(a, b queued) int { return b.length() - a.length() })
	j.count = len(j.waiting)
	j.found = make(chan answer, j.count)
	s.mu.Lock()
	var err error
	switch {
	case s.closing:
		err = models.ErrClosed
	case j.ctx.Err() != nil:
		err = context.Cause(j.ctx)
	case j.count > 0:
		if err = s.queue.add(j); err == nil {
			s.active[j] = true
		}
	}
	s.mu.Unlock()
	if err != nil || j.count == 0 {
		return err
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.queue.drop(j)
		delete(s.active, j)
	}()
	for range j.count {
		select {
		case a := <-j.found:
			if a.failed != nil {
				return cause(j.ctx, a.failed)
			}
			write(a.place, a.list, a.err)
		case <-j.ctx.Done():
			return context.Cause(j.ctx)
		}
	}
	return nil
}

// work makes batches until the server is closed and nothing waits.
func (s *Server) work() {
	defer close(s.ended)
	for {
		s.mu.Lock()
		for len(s.queue.jobs) == 0 && !s.closing {
			s.queue.arrived.Wait()
		}
		if len(s.queue.jobs) == 0 {
			s.mu.Unlock()
			return
		}
		m := s.queue.jobs[0].model
		m.users++ // its last call may be cancelled meanwhile
		s.mu.Unlock()
		s.batch(m)
		s.leave(m)
	}
}

// batch translates what waits for a model when the torch thread is free: what has come until then is in it.
func (s *Server) batch(m *served) {
	b := &gathered{}
	err := corpus.Guard(func() error {
		return m.Queue(context.Background(), func() error {
			s.mu.Lock()
			b.sentences = s.queue.take(m)
			s.mu.Unlock()
			return b.compute(m)
		})
	})
	if crossed := new(torch.Crossed); errors.As(err, &crossed) { // the place that panicked is the other thread's
		err = &corpus.Panic{Value: crossed.Value, Stack: crossed.Stack}
	}
	for i, x := range b.sentences {
		if err != nil && !b.answered[i] {
			x.job.found <- answer{failed: &BatchError{err}}
		}
	}
	if len(b.sentences) == 0 {
		return
	}
	if err == nil { // what ended early says nothing of the speed
		s.mu.Lock()
		now := float64(b.stats.Tokens) / max(b.stats.Took.Seconds(), 1e-6)
		s.queue.speed = 0.8*cmp.Or(s.queue.speed, now) + 0.2*now
		s.mu.Unlock()
	}
	if errors.Is(err, errAbandoned) {
		err = nil
	}
	b.stats.Err = err
	if s.options.Observe != nil {
		s.options.Observe(b.stats)
	}
}

// gathered is the sentences that are searched for together.
type gathered struct {
	sentences []queued
	answered  []bool
	stats     BatchStats
}

func (b *gathered) compute(m *served) error {
	if len(b.sentences) == 0 {
		return nil
	}
	began, longest := time.Now(), 0
	b.answered = make([]bool, len(b.sentences))
	sentences := make([]*sentence, len(b.sentences))
	for i, x := range b.sentences {
		sentences[i] = x.sentence
		b.stats.Tokens += x.length()
		longest = max(longest, x.length())
	}
	b.stats.Sentences, b.stats.Padded = len(sentences), longest*len(sentences)
	err := m.search(wanted{context.Background(), b.sentences}, sentences, b.sentences[0].job.search,
		func(i int, list []found, err error) {
			b.answered[i] = true
			if len(list) > 0 {
				b.stats.Symbols += len(list[0].TokenLogProbs)
			}
			b.sentences[i].job.found <- answer{place: b.sentences[i].place, list: list, err: err}
		})
	b.stats.Took = time.Since(began)
	return err
}

// wanted is a context that lasts while any caller of a batch waits for it.
type wanted struct {
	context.Context
	sentences []queued
}

// errAbandoned says that nobody waits for a batch any more.
var errAbandoned = errors.New("all calls of the batch were cancelled")

// Err is nil while anyone waits.
func (w wanted) Err() error {
	for _, x := range w.sentences {
		if x.job.ctx.Err() == nil {
			return nil
		}
	}
	return errAbandoned
}
