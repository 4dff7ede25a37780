package main

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/runs/serve/internal/request"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// predictor is a language model that can be loaded anew while it answers.
type predictor struct {
	folder  string
	options models.Options
	queue   int // calls that may wait
	// turn is of the one call that waits for the torch thread, or has it: the next batch of a translator stands behind
	// that one of them alone.
	turn      chan struct{}
	reloading sync.Mutex // one at a time
	mu        sync.Mutex // of what follows; nobody waits while it holds it
	left      *sync.Cond // a call has ended
	model     *loaded
	calls     int // that wait or compute, with any model
	closed    bool
	closing   context.Context // of calls that need not end by themselves any more
	cancel    context.CancelCauseFunc
}

// loaded is a model, and the number of calls that use it.
type loaded struct {
	*language.Model
	calls int
}

func openPredictor(folder string, o models.Options, queue int) (*predictor, error) {
	m, err := language.Open(folder, o)
	if err != nil {
		return nil, err
	}
	p := &predictor{folder: folder, options: o, queue: queue, turn: make(chan struct{}, 1), model: &loaded{Model: m}}
	p.left = sync.NewCond(&p.mu)
	p.closing, p.cancel = context.WithCancelCause(context.Background())
	return p, nil
}

// reload changes over to the model that the folder holds now. Calls that have begun end with the old one.
func (p *predictor) reload() error {
	p.reloading.Lock()
	defer p.reloading.Unlock()
	next, err := language.Open(p.folder, p.options)
	if err != nil {
		return err
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return errors.Join(models.ErrClosed, next.Close())
	}
	old := p.model
	p.model = &loaded{Model: next}
	p.mu.Unlock()
	return p.release(old)
}

// release closes a model when the last call has left it.
func (p *predictor) release(m *loaded) error {
	p.mu.Lock()
	for m.calls > 0 {
		p.left.Wait()
	}
	p.mu.Unlock()
	return m.Close()
}

// close lets calls end, and frees the model; what has not ended when ctx is cancelled gets an error that says so.
func (p *predictor) close(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { p.cancel(models.ErrClosed) })()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.reloading.Lock() // a reload that has begun ends first
	defer p.reloading.Unlock()
	return p.release(p.model)
}

// waiting counts the calls that wait for their turn.
func (p *predictor) waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls - len(p.turn)
}

// use is the model as it is now, for a caller that says leave afterwards.
func (p *predictor) use() (*loaded, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, models.ErrClosed
	}
	if n := p.calls - len(p.turn); n >= p.queue {
		return nil, &translation.BusyError{Waiting: n, After: time.Second}
	}
	p.calls++
	p.model.calls++
	return p.model, nil
}

func (p *predictor) leave(m *loaded) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls--
	m.calls--
	p.left.Broadcast()
}

func (p *predictor) predict(ctx context.Context, text string, top int) (none language.Prediction, err error) {
	m, err := p.use()
	if err != nil {
		return none, err
	}
	defer p.leave(m)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.closing, func() { cancel(context.Cause(p.closing)) })()
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
		return m.Predict(ctx, text, top)
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}

// warnings are what loading the model noticed.
func (p *predictor) warnings() []checkpoint.Warning {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.model.Warnings
}

// predict is our own POST /predict: the loss of each word of a text, and the words that may follow.
func (a *app) predict(ctx context.Context, f request.Fields) (any, error) {
	texts, _, err := f.Texts("q")
	if err != nil {
		return nil, err
	}
	name, err := f.Text("model")
	if err != nil {
		return nil, err
	}
	top, err := f.Whole("top", 10, 0, 1000)
	if err != nil {
		return nil, err
	}
	m, err := a.languageModel(name)
	if err != nil {
		return nil, err
	}
	if len(texts) != 1 {
		return nil, request.Invalid("q must be one string")
	}
	if n := utf8.RuneCountInString(texts[0]); n > a.flags.MaxChars {
		return nil, request.TooLarge("the text has %d characters, and %d are the limit", n, a.flags.MaxChars)
	}
	p, err := m.predictor.predict(ctx, texts[0], top)
	if err != nil {
		return nil, err
	}
	type loss struct {
		Text string  `json:"text"`
		Loss float64 `json:"loss"`
	}
	type next struct {
		Text        string  `json:"text"`
		Probability float64 `json:"probability"`
	}
	answer := struct {
		Loss       float64  `json:"loss"` // nats, over all words
		Tokens     int      `json:"tokens"`
		Perplexity *float64 `json:"perplexity"` // null for no words
		Words      []loss   `json:"words"`
		Next       []next   `json:"next"`
	}{Tokens: len(p.Words), Words: []loss{}, Next: []next{}}
	for _, w := range p.Words {
		answer.Words = append(answer.Words, loss{w.Text, w.NLL})
		answer.Loss += w.NLL
	}
	if len(p.Words) > 0 {
		perplexity := math.Exp(answer.Loss / float64(len(p.Words)))
		answer.Perplexity = &perplexity
	}
	for _, w := range p.Next {
		answer.Next = append(answer.Next, next{w.Text, w.Probability})
	}
	return answer, nil
}
