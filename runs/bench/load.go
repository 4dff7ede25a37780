package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"syscall"
	"time"

	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// loadMerges are those of a run on WMT14.
const loadMerges = 37000

// Rows without a peer: what a run on -load-pairs sentence pairs waits for, and what it holds.
var loadRows = []row{
	{"load/encode/moses+subword-nmt", "pairs_per_s", (*bench).encoding},
	{"load/encode/tokenizers", "lines_per_s", (*bench).encodingWords},
	{"load/learn", "s", loading(func(l *loads) figure { return l.learn.time() })},
	{"load/learn_heap", "MB", loading(func(l *loads) figure { return figure{value: l.learn.heap} })},
	{"load/encode", "s", loading(func(l *loads) figure { return l.encode.time() })},
	{"load/encode_heap", "MB", loading(func(l *loads) figure { return figure{value: l.encode.heap} })},
	{"load/store", "MB", loading(func(l *loads) figure { return figure{value: l.store} })},
	{"load/second_start", "s", loading(func(l *loads) figure { return l.second.time() })},
	{"load/resume", "s", loading(func(l *loads) figure { return l.resume.time() })},
	{"load/shuffle", "s", loading(func(l *loads) figure { return l.shuffle.time() })},
	{"load/heap", "MB", loading(func(l *loads) figure { return figure{value: max(l.second.heap, l.resume.heap, l.twoEpochs.heap)} })},
}

// loads are the measures of one corpus.
type loads struct {
	learn, encode phase // a first start
	second        phase // a second one, to its first batch
	resume        phase // one in the middle of the second epoch, to its first batch
	twoEpochs     phase // one at an epoch's end, and 200 batches of the next
	shuffle       phase // from the last batch of an epoch to the first of the next
	store         float64
}

// phase is a part of a run.
type phase struct {
	seconds    float64
	processors float64 // seconds of all processors together
	heap       float64 // MB of the most objects that the heap held, dead ones included
}

// figure is what a row shows, with a remark.
type figure struct {
	value  float64
	remark string
}

func (p phase) time() figure {
	return figure{p.seconds, fmt.Sprintf(", %.1f s of processors", p.processors)}
}

func loading(which func(*loads) figure) func(b *bench) (*race, error) {
	return func(b *bench) (*race, error) {
		return &race{alone: func(context.Context) (out result, err error) {
			if b.loads == nil {
				l, err := b.measureLoads()
				if err != nil {
					return out, err
				}
				b.loads = l
			}
			f := which(b.loads)
			return result{Ours: f.value, Config: fmt.Sprintf("%d pairs%s", b.LoadPairs, f.remark)}, nil
		}}, nil
	}
}

// loadSettings are those of text in a run on WMT14.
func loadSettings() translation.Settings {
	s := translation.Defaults()
	s.Text.Source, s.Text.Target, s.Text.Merges = loadSource, loadTarget, loadMerges
	return s
}

// loadPairs is where the training text of a folder is.
func loadPairs(folder string) corpus.PairName {
	return corpus.PairName{Folder: folder, Name: "train", Source: loadSource, Target: loadTarget}
}

// begin opens the training text of a folder as a run does.
func begin(folder, store string) (*bitext.Texts, error) {
	cache := corpus.StoreSettings{Store: store}.Cache()
	train, err := cache.OpenParallel(loadPairs(folder), "-load-pairs")
	return &bitext.Texts{
		Train: train, Cache: cache,
		Valid: bitext.Lines{Name: "valid", Source: []string{"a"}, Target: []string{"b"}},
	}, err
}

const positions = 1024

func (b *bench) measureLoads() (*loads, error) {
	fmt.Fprintf(b.log, "making or finding the text of %d pairs\n", b.LoadPairs)
	folder, err := loadText(b.LoadPairs)
	if err != nil {
		return nil, err
	}
	// Each measurement has a store of its own, so that the first start is one.
	store, err := os.MkdirTemp(filepath.Dir(folder), "store-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(store)
	l := &loads{}
	if err := l.first(folder, store, b); err != nil {
		return nil, err
	}
	return l, l.again(folder, store)
}

// first learns and encodes, and leaves a tokenizer folder as a run does.
func (l *loads) first(folder, store string, b *bench) error {
	texts, err := begin(folder, store)
	if err != nil {
		return err
	}
	var pair *bitext.Pair
	if l.learn, err = timed(func() error {
		pair, err = translation.LearnTexts(loadSettings(), texts)
		return err
	}); err != nil {
		return err
	}
	fmt.Fprintf(b.log, "learnt in %.0f s\n", l.learn.seconds)
	if b.ctx.Err() != nil {
		return context.Cause(b.ctx)
	}
	defer texts.Close()
	if l.encode, err = timed(func() error { return texts.Encode(pair, corpus.Limits{}, positions) }); err != nil {
		return err
	}
	fmt.Fprintf(b.log, "%s\n", texts.Stored)
	files, err := filepath.Glob(filepath.Join(store, "*.pairs"))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("the store holds %v, not one file: free space on the disk of %s", files, store)
	}
	info, err := os.Stat(files[0])
	if err != nil {
		return err
	}
	l.store = float64(info.Size()) / 1e6
	return pair.Save(filepath.Join(store, "tokenizer"))
}

// again measures a second start, a resume in the middle of the second epoch, and the change to another epoch.
func (l *loads) again(folder, store string) error {
	options := corpus.Options{BatchSettings: corpus.BatchSettings{MaxTokens: 4096}, Seed: 1}
	var batches int
	toBatch := func(fresh bool, at corpus.Position, then func(*corpus.Loader) error) error {
		texts, err := begin(folder, store)
		if err != nil {
			return err
		}
		defer texts.Close()
		var pair *bitext.Pair
		if fresh {
			pair, err = translation.LearnTexts(loadSettings(), texts)
		} else {
			pair, err = bitext.OpenPair(loadSettings().Text, filepath.Join(store, "tokenizer"))
		}
		if err != nil {
			return err
		}
		if err := texts.Encode(pair, corpus.Limits{}, positions); err != nil {
			return err
		}
		loader, err := corpus.NewLoader(texts.TrainPairs, options, at)
		if err != nil {
			return err
		}
		defer loader.Close()
		batches = loader.BatchesPerEpoch()
		if _, err := loader.Next(); err != nil {
			return err
		}
		return then(loader)
	}
	nothing := func(*corpus.Loader) error { return nil }
	var err error
	if l.second, err = timed(func() error { return toBatch(true, corpus.Position{}, nothing) }); err != nil {
		return err
	}
	if l.resume, err = timed(func() error { return toBatch(false, corpus.Position{Epoch: 1, Batch: batches / 2}, nothing) }); err != nil {
		return err
	}
	// The last batch of an epoch is there before the next epoch is shuffled.
	l.twoEpochs, err = timed(func() error {
		return toBatch(false, corpus.Position{Batch: batches - 1}, func(loader *corpus.Loader) error {
			start, before := time.Now(), processorSeconds()
			_, err := loader.Next()
			l.shuffle = phase{seconds: time.Since(start).Seconds(), processors: processorSeconds() - before}
			for i := 0; i < 200 && err == nil; i++ {
				_, err = loader.Next()
			}
			return err
		})
	})
	return err
}

// timed measures work.
func timed(work func() error) (p phase, err error) {
	debug.FreeOSMemory()
	done, peak := make(chan struct{}), make(chan uint64)
	go func() {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		most := uint64(0)
		for {
			metrics.Read(sample)
			most = max(most, sample[0].Value.Uint64())
			select {
			case <-done:
				peak <- most
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	start, before := time.Now(), processorSeconds()
	err = work()
	p.seconds, p.processors = time.Since(start).Seconds(), processorSeconds()-before
	close(done)
	p.heap = float64(<-peak) / 1e6
	return p, err
}

// processorSeconds are those that this process has used.
func processorSeconds() float64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}
