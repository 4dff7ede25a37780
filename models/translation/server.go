package translation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"sync"
	"time"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// Server translates for many callers at once with one run. Sentences of all callers share batches: there is no timer;
// while a batch computes, the next one gathers, and it begins when the torch thread is free. Its methods may be called
// from any goroutine.
//
// Batches are those of text-embeddings-inference, with callers taking turns: each gets one sentence into the batch,
// then each a second one, until the batch is full. A caller with a long text so keeps no other from its next word.
type Server struct {
	folder  string
	options ServerOptions

	reloading sync.Mutex // one at a time
	mu        sync.Mutex
	left      sync.Cond // a call has left its model
	model     *served
	queue     queue
	closing   bool
	active    map[*job]bool
	ended     chan struct{} // closed when no batch will be made any more
}

// ServerOptions say on what a server computes, and how much it takes. The zero value is good.
type ServerOptions struct {
	Options
	// Shortlist is the name of a file in the run folder, for [Translator.ReadShortlist]; empty for no short list.
	Shortlist string
	Int8      bool // compute with weights of eight bits, on the CPU
	Queue     int  // sentences that may wait; 0 is 4096. A call of more is taken where none waits
	Tokens    int  // source tokens of a batch, padding and ends included; 0 is 4096

	// Observe is called for each batch when it is done. It must return soon.
	Observe func(BatchStats)
}

// BatchStats is what a batch was.
type BatchStats struct {
	Sentences int
	Tokens    int // of the sources, with their ends
	Padded    int // tokens with the padding between them
	Symbols   int // of the best translations, with their ends
	Took      time.Duration
	Err       error // nil, or what all its sentences failed with
}

// BusyError says that the queue is full.
type BusyError struct {
	Waiting int           // sentences, or in runs/serve a language model's requests
	After   time.Duration // in which they will be done, by the speed so far
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("the queue is full with %d waiting: try again in %.0f s", e.Waiting, math.Ceil(e.After.Seconds()))
}

// BatchError is the failure of a batch to each caller whose sentences were in it. ServerOptions.Observe gets what it
// wraps.
type BatchError struct{ err error }

func (e *BatchError) Error() string { return e.err.Error() }
func (e *BatchError) Unwrap() error { return e.err }

// served is a translator, and the number of calls that use it.
type served struct {
	*Translator
	splitter *tokenize.SentenceSplitter
	short    *decode.Shortlist
	users    int
}

// Serve opens a run folder for many callers.
func Serve(folder string, o ServerOptions) (*Server, error) {
	if o.Queue == 0 {
		o.Queue = 4096
	}
	if o.Tokens == 0 {
		o.Tokens = 4096
	}
	if o.Queue < 0 || o.Tokens < 0 {
		return nil, fmt.Errorf("a queue of %d sentences and batches of %d tokens make no sense: use at least 1", o.Queue,
			o.Tokens)
	}
	s := &Server{folder: folder, options: o, active: map[*job]bool{}, ended: make(chan struct{})}
	var err error
	if s.model, err = s.open(); err != nil {
		return nil, err
	}
	s.left.L = &s.mu
	s.queue.init(&s.mu, o)
	go s.work()
	return s, nil
}

// open opens the run folder, and lays the weights out so that no caller waits for it.
func (s *Server) open() (*served, error) {
	t, err := Open(s.folder, s.options.Options)
	if err != nil {
		return nil, err
	}
	o := t.Settings.Decode
	o.Int8 = s.options.Int8
	if s.options.Shortlist != "" {
		if o.Shortlist, err = t.ReadShortlist(filepath.Join(s.folder, s.options.Shortlist)); err != nil {
			return nil, errors.Join(err, t.Close())
		}
	}
	err = t.Queue(context.Background(), func() error {
		_, err := t.searcher(o)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return &served{Translator: t, splitter: tokenize.NewSentenceSplitter(t.Settings.Text.Source), short: o.Shortlist}, nil
}

// Settings are those of the run that is served.
func (s *Server) Settings() Settings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.model.Translator.Settings
}

// Warnings are what opening the run noticed.
func (s *Server) Warnings() []checkpoint.Warning {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.model.Translator.Warnings
}

// Waiting counts the sentences that wait for their batch.
func (s *Server) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue.sentences
}

// use is the model as it is now, for a caller that says leave afterwards.
func (s *Server) use() *served {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model.users++
	return s.model
}

func (s *Server) leave(m *served) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.users--
	s.left.Broadcast()
}

// release closes a model when the last call has left it.
func (s *Server) release(m *served) error {
	s.mu.Lock()
	for m.users > 0 {
		s.left.Wait()
	}
	s.mu.Unlock()
	return m.Close()
}

// Glossary is that of [Translator.Glossary]. It outlives a [Server.Reload].
func (s *Server) Glossary(ctx context.Context, terms []Term) (*Glossary, error) {
	m := s.use()
	defer s.leave(m)
	return m.Glossary(ctx, terms)
}

// Translate is [Translator.TranslateRequests] for requests whose lines are texts of any length, with line breaks. They
// are translated sentence by sentence, as how says, and put together again with their white space. What a text asks of
// its translation holds for each of its sentences: its prefix for the first one, terms and kept text where they occur.
// The score of a text is the sum of its sentences' scores.
//
// A translation does not depend on what else the server does. Where the queue is full, Translate fails with a
// *[BusyError]; where ctx is cancelled, its sentences leave the queue and it fails with the cause.
func (s *Server) Translate(ctx context.Context, requests []Request, o decode.Options, how Splitting) ([][]Translation,
	error) {
	m := s.use()
	defer s.leave(m)
	if o == (decode.Options{}) {
		o = m.Translator.Settings.Decode
	}
	o.Int8, o.BatchTokens, o.Shortlist = s.options.Int8, s.options.Tokens, m.short
	if err := errors.Join(o.Check(), m.checkOptions(o)); err != nil {
		return nil, err
	}
	out := make([][]Translation, len(requests))
	passages := make([][]piece, len(requests))
	j := newJob(ctx, m, o)
	defer j.cancel(nil)
	glossaries := map[*Glossary]*Glossary{}
	for i, r := range requests {
		err := ctx.Err()
		if err == nil {
			r.Terms, err = m.glossary(ctx, r.Terms, glossaries)
		}
		if err != nil {
			return nil, cause(ctx, err)
		}
		passages[i], err = m.passage(ctx, r, how)
		if ctx.Err() != nil {
			return nil, cause(ctx, ctx.Err())
		}
		if err != nil {
			out[i] = []Translation{{Err: &LineError{Line: i + 1, Err: err}}}
			continue
		}
		for k := range passages[i] {
			if p := &passages[i][k]; p.sentence != nil && len(p.ids) > 0 {
				j.add(p.sentence, i, k)
			}
		}
	}
	if err := s.do(j, func(at place, list []found, err error) {
		if err != nil {
			if out[at.text] == nil {
				out[at.text] = []Translation{{Err: &LineError{Line: at.text + 1, Err: err}}}
			}
			return
		}
		p := &passages[at.text][at.piece]
		p.found = m.write(p.sentence, list, o)
	}); err != nil {
		return nil, err
	}
	for i := range out {
		if out[i] == nil {
			out[i] = joined(passages[i], o, spaced(m.Translator.Settings.Text.Target))
		}
	}
	return out, nil
}

// cause is why ctx was cancelled, where it was.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// glossary is g as this translator reads it: one that another has prepared is prepared anew.
func (t *Translator) glossary(ctx context.Context, g *Glossary, known map[*Glossary]*Glossary) (*Glossary, error) {
	if g == nil || g.of == t {
		return g, nil
	}
	if known[g] == nil {
		anew, err := t.Glossary(ctx, g.given)
		if err != nil {
			return nil, err
		}
		known[g] = anew
	}
	return known[g], nil
}

// Reload opens the run folder anew beside the translator that serves, then changes over. Calls that have begun end with
// the old one, which is freed then; Reload returns when it has been. Where the folder cannot be opened, the old one
// goes on and Reload says why.
func (s *Server) Reload() error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	next, err := s.open()
	if err != nil {
		return err
	}
	s.mu.Lock()
	old := next // it is not wanted any more where the server is being closed
	if !s.closing {
		old, s.model = s.model, next
	}
	s.mu.Unlock()
	if err := s.release(old); err != nil || old != next {
		return err
	}
	return models.ErrClosed
}

// Close lets calls whose sentences are in the queue end, and then gives back what the server holds. Later calls get
// [models.ErrClosed], and so do those that have not ended when ctx is cancelled; Close returns its cause then.
func (s *Server) Close(ctx context.Context) (err error) {
	s.mu.Lock()
	first := !s.closing
	s.closing = true
	s.queue.arrived.Broadcast()
	s.mu.Unlock()
	if !first {
		<-s.ended
		return models.ErrClosed
	}
	select {
	case <-s.ended:
	case <-ctx.Done():
		err = context.Cause(ctx)
		s.mu.Lock()
		for j := range s.active {
			j.cancel(models.ErrClosed)
		}
		s.mu.Unlock()
		<-s.ended
	}
	s.reloading.Lock() // a reload that has begun ends first
	defer s.reloading.Unlock()
	return errors.Join(err, s.release(s.model))
}
