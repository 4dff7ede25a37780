package corpus

import (
	"cmp"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// BatchSettings are the keys of the section train that say how sentence pairs are batched.
type BatchSettings struct {
	MaxTokens    int `toml:"max_tokens" default:"4096" range:"[1,inf)" help:"size of a batch: sentences times the longest of them, in symbols"`
	MaxSentences int `toml:"max_sentences" default:"0" range:"[0,inf)" help:"most sentences in a batch; 0 is no limit"`
}

// Options say how a Loader makes batches.
type Options struct {
	BatchSettings
	Multiple   int // rows are a multiple of it, or fewer; 0 is 1
	Accumulate int // batches of an update; 0 is 1
	Ahead      int // updates prepared ahead; 0 is 4
	Seed       uint64
	Share      Share // of an update's batches: Loader makes only those that fall to it
}

// Position is a place between batches: Batch batches of the epoch are done. The zero Position is the start of training.
type Position struct {
	Epoch int `json:"epoch"`
	Batch int `json:"batch"`
}

// Update is what one optimizer step works on. The last one of an epoch may have fewer batches.
type Update struct {
	Batches     []*Batch // those that fall to this process
	Places      []int    // where they stand among all batches
	All         int      // how many all are
	Tokens      int      // target tokens of all batches, without padding, with the end of sentence
	Sentences   int      // rows of all batches
	Position    Position // after this update
	LastOfEpoch bool
}

// Loader gives updates, epoch after epoch. It prepares them in a goroutine of its own. Next and Close may be called
// from different goroutines.
type Loader struct {
	pairs   Pairs
	options Options
	epochs  epochs

	updates chan Update // closed when the preparation ends
	failed  error       // why it ended, where that was not Close; read once updates is closed
	quit    chan struct{}
	once    sync.Once
	done    sync.WaitGroup
}

// NewLoader starts a loader at a position. It is an error if a pair alone costs more than MaxTokens, or if the position
// lies behind the epoch's end, as with another corpus or other limits.
func NewLoader(pairs Pairs, options Options, from Position) (*Loader, error) {
	if pairs.Len() == 0 {
		return nil, errors.New("there are no sentence pairs to train on: check the training files and the length " +
			"filter")
	}
	if options.MaxTokens < 1 || min(options.MaxSentences, options.Multiple, options.Accumulate, options.Ahead) < 0 {
		return nil, fmt.Errorf("batches cannot be made with at most %d tokens and %d sentences, in multiples of %d, "+
			"%d to an update, %d ahead: train.max_tokens must be at least 1 and the rest not negative",
			options.MaxTokens, options.MaxSentences, options.Multiple, options.Accumulate, options.Ahead)
	}
	options.Multiple, options.Accumulate = max(options.Multiple, 1), max(options.Accumulate, 1)
	options.Ahead = cmp.Or(options.Ahead, 4)
	l := &Loader{pairs: pairs, options: options, updates: make(chan Update, options.Ahead), quit: make(chan struct{})}
	err := reading(pairs, func() error {
		for i := range pairs.Len() {
			if n := max(pairs.Lengths(i)) + 1; n > options.MaxTokens {
				return fmt.Errorf("the sentence pair %d of the training text takes %d tokens, more than a batch may hold: "+
					"raise train.max_tokens (%d), or set data.max_length to at most %d", pairs.At(i).Line, n,
					options.MaxTokens, options.MaxTokens-1)
			}
		}
		l.epochs = newEpochs(pairs, budget{options.MaxTokens, options.MaxSentences, options.Multiple}, options.Seed)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if from.Epoch < 0 || from.Batch < 0 || from.Batch > l.BatchesPerEpoch() {
		return nil, fmt.Errorf("training cannot go on after batch %d of epoch %d, since an epoch has %d batches: use "+
			"the corpus and the train.max_tokens that the checkpoint was made with", from.Batch, from.Epoch,
			l.BatchesPerEpoch())
	}
	if from.Batch == l.BatchesPerEpoch() {
		from = Position{Epoch: from.Epoch + 1}
	}
	l.start(from)
	return l, nil
}

// BatchesPerEpoch is the same for every epoch.
func (l *Loader) BatchesPerEpoch() int { return len(l.epochs.ends) }

// UpdatesPerEpoch counts the updates of an epoch that is begun at its start.
func (l *Loader) UpdatesPerEpoch() int {
	return (l.BatchesPerEpoch() + l.options.Accumulate - 1) / l.options.Accumulate
}

// Next waits for the next update. It is an error after Close.
func (l *Loader) Next() (Update, error) {
	select {
	case <-l.quit:
		return Update{}, errClosed
	default:
	}
	select {
	case update, more := <-l.updates:
		if more {
			return update, nil
		}
		return Update{}, cmp.Or(l.failed, errClosed)
	case <-l.quit:
		return Update{}, errClosed
	}
}

var errClosed = errors.New("no batch can be loaded, because the loader has been closed")

// Close ends the preparation and waits until its goroutine is gone. Further calls do nothing.
func (l *Loader) Close() {
	l.once.Do(func() { close(l.quit) })
	l.done.Wait()
}

// Panic is a panic of another goroutine, with its stack.
type Panic struct {
	Value any
	Stack []byte
}

func (p *Panic) Error() string { return fmt.Sprint(p.Value) }

// Unwrap is what was panicked with, where that is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// PanicStack is the stack of the place that panicked.
func (p *Panic) PanicStack() []byte { return p.Stack }

// start prepares updates in a goroutine of its own; Next hands over a panic there.
func (l *Loader) start(at Position) {
	l.done.Go(func() {
		defer close(l.updates)
		l.failed = Guard(func() error { return l.prepare(at) })
		if panicked := new(Panic); errors.As(l.failed, &panicked) {
			l.failed = fmt.Errorf("preparing batches: %w", l.failed)
		}
	})
}

// Guard makes an error of a panic in work, for goroutines where nobody else would catch it.
func Guard(work func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &Panic{value, debug.Stack()}
		}
	}()
	return work()
}

// prepare makes one update after the other until the loader is closed, or the pairs cannot be read.
func (l *Loader) prepare(at Position) error {
	for ; ; at = (Position{Epoch: at.Epoch + 1}) {
		epoch := l.epochs.batches(at.Epoch)
		for at.Batch < len(epoch) {
			end := min(at.Batch+l.options.Accumulate, len(epoch))
			var update Update
			err := reading(l.pairs, func() error {
				update = l.update(epoch[at.Batch:end])
				return nil
			})
			if err != nil {
				return err
			}
			at.Batch = end
			update.Position = at
			if end == len(epoch) {
				update.Position, update.LastOfEpoch = Position{Epoch: at.Epoch + 1}, true
			}
			select {
			case l.updates <- update:
			case <-l.quit:
				return nil
			}
		}
	}
}

func (l *Loader) update(members [][]int32) Update {
	u := Update{All: len(members)}
	costs := make([]int, len(members))
	for i, rows := range members {
		source, target := 0, 0
		for _, row := range rows {
			s, t := l.pairs.Lengths(int(row))
			source, target = max(source, s), max(target, t)
			u.Tokens += t + 1
		}
		u.Sentences += len(rows)
		costs[i] = len(rows) * (source + target + 2)
	}
	u.Places = l.options.Share.Mine(costs)
	for _, i := range u.Places {
		u.Batches = append(u.Batches, newBatch(l.pairs, members[i]))
	}
	return u
}
