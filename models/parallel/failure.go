package parallel

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/torch"
)

// Failure is that of another process, in the words of the first that failed.
type Failure struct {
	Said string
	Err  error // where the store could not be asked
}

func (f *Failure) Error() string {
	if f.Err != nil {
		return fmt.Sprintf("the store that the processes met in does not answer (%v): rank 0, or what started the "+
			"processes, is gone or stopped", f.Err)
	}
	return f.Said
}

// Unwrap is what the store's client says.
func (f *Failure) Unwrap() error { return f.Err }

// Alike is an error that all processes find alike, to be told without the name of one.
func (p *Peers) Alike(err error) error {
	if p == nil {
		return err
	}
	return &Failure{Said: err.Error()}
}

// refused is a failure that all processes find alike.
func refused(format string, args ...any) error { return &Failure{Said: fmt.Sprintf(format, args...)} }

// read is Get for what a person reads: where strangers reach the store it may be theirs, and commands to a terminal.
func read(store *torch.Store, key string) (string, error) {
	text, err := store.Get(key)
	return files.Shown(text), err
}

// Keys of the store: how many processes there are; that all have come; what the first to fail said; that a collective
// has failed; how many know; how many have come to the end.
const (
	sizeKey   = "size"
	begunKey  = "begun"
	failedKey = "failed"
	alarmKey  = "alarm"
	knownKey  = "known"
	leftKey   = "left"
)

const (
	beat  = 500 * time.Millisecond // between signs of life
	brief = 5 * time.Second        // how long a process may be silent once a collective has failed
	grace = 5 * time.Second        // that a process has to end by itself when another has failed
)

// watcher gives signs of life of this process, and watches those of the next one. Silence is counted in its own beats,
// not by the clock: where all processes were halted together, nobody was silent.
type watcher struct {
	rank    int
	next    string // name of the process that is watched
	silence time.Duration
	server  bool // this process serves the store
	store   *torch.Store
	end     func(error)
	leaving atomic.Bool
	heard   atomic.Pointer[Failure] // what another said, which is known when the store has gone
}

func (w *watcher) start(size int) {
	mine, others := fmt.Sprint("beat/", w.rank), fmt.Sprint("beat/", (w.rank+1)%size)
	go func() {
		silent, last := 0, int64(-1)
		for !w.leaving.Load() {
			now, err := w.tick(mine, others)
			if err == nil && now != last {
				silent, last = 0, now
			} else {
				silent++
			}
			if err == nil {
				err = w.judge(time.Duration(silent) * beat)
			}
			if err != nil {
				time.Sleep(grace) // the torch thread learns of it as well, and ends in order
				if !w.leaving.Load() {
					w.end(err)
				}
				return
			}
			time.Sleep(beat)
		}
	}()
}

// tick gives a sign of life, and returns the number of the next process's last one, or the failure of another.
func (w *watcher) tick(mine, others string) (int64, error) {
	if _, err := w.store.Add(mine, 1); err != nil {
		return 0, &Failure{Err: err}
	}
	if failed, err := read(w.store, failedKey); err != nil || failed != "" {
		f := &Failure{failed, err}
		if err == nil {
			w.heard.Store(f)
		}
		return 0, f
	}
	now, err := w.store.Add(others, 0)
	if err != nil {
		return 0, &Failure{Err: err}
	}
	return now, nil
}

// judge says that the next process has failed, when it has been silent for too long.
func (w *watcher) judge(silent time.Duration) error {
	allowed := w.silence
	if silent > brief && silent <= allowed {
		if alarm, err := w.store.Get(alarmKey); err == nil && alarm != "" {
			allowed = brief
		}
	}
	if silent <= allowed {
		return nil
	}
	_, err := w.store.First(failedKey, fmt.Sprintf("%s has given no sign of life for %.0f s: it was killed or "+
		"stopped, or its machine is gone; -resume goes on from the last checkpoint", w.next, silent.Seconds()))
	return err // the next tick finds it
}

// explain turns the error of a collective into the failure that caused it.
func (p *Peers) explain(err error) error {
	if err == nil {
		return nil
	}
	p.store.Set(alarmKey, "1")
	for deadline := time.Now().Add(p.silence + 2*brief); time.Now().Before(deadline); time.Sleep(beat / 2) {
		failed, gone := read(p.store, failedKey)
		if f := p.heard.Load(); gone != nil && f != nil {
			return f
		}
		if gone != nil || failed != "" {
			return &Failure{failed, gone}
		}
	}
	return fmt.Errorf("%s has lost the others: %w", p.names[p.Rank], err)
}

// Leave ends the membership, after an error or without one, and returns what is to be told of it: this process's error,
// with its name, or the failure of another one that came first. Signals to stop are no failure: alike is set where all
// end so.
func (p *Peers) Leave(err error, alike bool) error {
	if p == nil {
		return err
	}
	if err == nil || alike {
		if failed := p.depart(); failed == nil {
			return err
		} else if err == nil {
			err = failed
		}
	}
	p.leaving.Store(true)
	var other *Failure
	if !errors.As(err, &other) {
		said := p.names[p.Rank] + " failed: " + strings.Join(strings.Fields(err.Error()), " ")
		first, gone := p.store.First(failedKey, said)
		if err = fmt.Errorf("%s failed: %w", p.names[p.Rank], err); gone == nil && first != said {
			err = &Failure{files.Shown(first), nil}
		}
	}
	known, gone := p.store.Add(knownKey, 1)
	for deadline := time.Now().Add(3 * time.Second); p.server && gone == nil && known < int64(p.Size) &&
		time.Now().Before(deadline); time.Sleep(beat / 10) {
		known, gone = p.store.Add(knownKey, 0)
	}
	return err
}

// depart waits until all have come to the end, so that nobody misses another one.
func (p *Peers) depart() error {
	if err := p.Barrier(); err != nil {
		return err
	}
	p.leaving.Store(true)
	left, gone := p.store.Add(leftKey, 1)
	for deadline := time.Now().Add(2 * brief); gone == nil && left < int64(p.Size) &&
		time.Now().Before(deadline); time.Sleep(beat / 50) {
		left, gone = p.store.Add(leftKey, 0)
	}
	if p.server {
		time.Sleep(beat / 5) // the others' last question
	}
	p.group.Leave()
	return nil
}
