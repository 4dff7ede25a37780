package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"syscall"
	"time"

	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// loadRows are encoding beside other programs, and without a peer what a run on -load-pairs sentence pairs waits for,
// and what it holds.
func loadRows() []row {
	rows := []row{
		{"load/encode/moses+subword-nmt", "pairs_per_s", encoding},
		{"load/encode/tokenizers", "lines_per_s", encodingWords},
	}
	for _, measured := range [][2]string{
		{"learn", "s"}, {"learn_heap", "MB"}, {"encode", "s"}, {"encode_heap", "MB"}, {"store", "MB"}, // a first start
		{"second_start", "s"}, {"resume", "s"}, {"shuffle", "s"}, {"heap", "MB"},
	} {
		rows = append(rows, row{"load/" + measured[0], measured[1], func(b *bench, r *race) error {
			r.alone = func() (f figure, err error) {
				all, err := b.loads()
				if err != nil {
					return f, err
				}
				f = all[measured[0]]
				f.remark = fmt.Sprintf("%d pairs%s", b.LoadPairs, f.remark)
				return f, nil
			}
			return nil
		}})
	}
	return rows
}

// loadSettings are those of text in a run on WMT14.
func loadSettings(merges int) bitext.TextSettings {
	s := translation.Defaults().Text
	s.Source, s.Target, s.Merges = loadSource, loadTarget, merges
	return s
}

// loadMerges are those of a run on WMT14.
const loadMerges = 37000

// loadPairs is where the training text of a folder is.
func loadPairs(folder string) corpus.PairName {
	return corpus.PairName{Folder: folder, Name: "train", Source: loadSource, Target: loadTarget}
}

// aValidation is what a run needs beside its training text.
var aValidation = bitext.Lines{Name: "valid", Source: []string{"a"}, Target: []string{"b"}}

// begin opens the training text of a folder as a run does.
func begin(folder, store string) (*bitext.Texts, error) {
	cache := corpus.StoreSettings{Store: store}.Cache()
	train, err := cache.OpenParallel(loadPairs(folder), "-load-pairs")
	return &bitext.Texts{Train: train, Cache: cache, Valid: aValidation}, err
}

// learnt are the codes and vocabularies of texts, as a run learns them.
func learnt(texts *bitext.Texts) (*bitext.Sides, error) {
	s := translation.Defaults()
	s.Text = loadSettings(loadMerges)
	return translation.LearnText(s, texts.Train, texts.Cache)
}

// positions is the longest sentence of a run.
const positions = 1024

// loads measures one corpus, by the names of rows.
type loads map[string]figure

// phase measures a part of a run: its time, and the heap with dead objects under another name, if it has one.
func (l loads) phase(name, heap string, work func() error) error {
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
	err := l.time(name, work)
	close(done)
	l[heap] = figure{value: max(l[heap].value, float64(<-peak)/1e6)}
	return err
}

// time measures the seconds of work, and those of all processors.
func (l loads) time(name string, work func() error) error {
	start, before := time.Now(), processorSeconds()
	err := work()
	l[name] = figure{time.Since(start).Seconds(), fmt.Sprintf(", %.1f s of processors", processorSeconds()-before)}
	return err
}

// processorSeconds are those that this process has used.
func processorSeconds() float64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

func (b *bench) measureLoads() (loads, error) {
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
	l := loads{}
	if err := l.first(folder, store, b); err != nil {
		return nil, err
	}
	return l, l.again(folder, store)
}

// first learns and encodes, and leaves a tokenizer folder as a run does.
func (l loads) first(folder, store string, b *bench) error {
	texts, err := begin(folder, store)
	if err != nil {
		return err
	}
	defer texts.Close()
	var pair *bitext.Sides
	if err := l.phase("learn", "learn_heap", func() error {
		pair, err = learnt(texts)
		return err
	}); err != nil {
		return err
	}
	fmt.Fprintf(b.log, "learnt in %.0f s\n", l["learn"].value)
	if b.ctx.Err() != nil {
		return context.Cause(b.ctx)
	}
	encode := func() error { return texts.Encode(pair, corpus.Limits{}, positions) }
	if err := l.phase("encode", "encode_heap", encode); err != nil {
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
	l["store"] = figure{value: float64(info.Size()) / 1e6}
	return pair.Save(filepath.Join(store, "tokenizer"))
}

// again measures a second start to its first batch, a resume in the middle of the second epoch, and the change to
// another epoch with 200 batches of it.
func (l loads) again(folder, store string) error {
	var batches int
	open := func(*bitext.Texts) (*bitext.Sides, error) {
		return bitext.OpenSides(loadSettings(loadMerges), filepath.Join(store, "tokenizer"))
	}
	start := func(pairOf func(*bitext.Texts) (*bitext.Sides, error), at func() corpus.Position,
		then func(*corpus.Loader) error) func() error {
		return func() error {
			texts, err := begin(folder, store)
			if err != nil {
				return err
			}
			defer texts.Close()
			pair, err := pairOf(texts)
			if err != nil {
				return err
			}
			if err := texts.Encode(pair, corpus.Limits{}, positions); err != nil {
				return err
			}
			o := corpus.Options{BatchSettings: corpus.BatchSettings{MaxTokens: 4096}, Seed: 1}
			loader, err := corpus.NewLoader(texts.TrainPairs, o, at())
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
	}
	nothing := func(*corpus.Loader) error { return nil }
	beginning := func() corpus.Position { return corpus.Position{} }
	middle := func() corpus.Position { return corpus.Position{Epoch: 1, Batch: batches / 2} }
	end := func() corpus.Position { return corpus.Position{Batch: batches - 1} }
	if err := l.phase("second_start", "heap", start(learnt, beginning, nothing)); err != nil {
		return err
	}
	if err := l.phase("resume", "heap", start(open, middle, nothing)); err != nil {
		return err
	}
	// The last batch of an epoch is there before the next epoch is shuffled.
	return l.phase("two_epochs", "heap", start(open, end, func(loader *corpus.Loader) error {
		err := l.time("shuffle", func() error {
			_, err := loader.Next()
			return err
		})
		for i := 0; i < 200 && err == nil; i++ {
			_, err = loader.Next()
		}
		return err
	}))
}

// slicePairs are the pairs of the artificial text that a peer encodes in a round.
const slicePairs = 20_000

// slice is text for the peers of encoding, with the files of its vocabularies.
func (b *bench) slice() (s *preparedText, vocabularies []string, err error) {
	folder := b.path("slice")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, nil, err
	}
	if err := writeLoadText(folder, slicePairs); err != nil {
		return nil, nil, err
	}
	if s, err = prepared(loadPairs(folder), loadSettings(merges), "-what", folder); err != nil {
		return nil, nil, err
	}
	for _, language := range []string{loadSource, loadTarget} {
		vocabularies = append(vocabularies, filepath.Join(s.tokenizer, "vocabulary."+language))
	}
	return s, vocabularies, nil
}

// encoding makes the store of raw text in files, from nothing, on one thread; the peer runs the Moses tokenizer,
// subword-nmt and a plain binariser one after the other.
func encoding(b *bench, r *race) error {
	s, vocabularies, err := b.slice()
	if err != nil {
		return err
	}
	store := filepath.Join(s.folder, "store")
	work := func() error {
		texts, err := begin(s.folder, store)
		if err != nil {
			return err
		}
		defer texts.Close()
		if err := texts.Encode(s.pair, corpus.Limits{}, positions); err != nil {
			return err
		}
		if !strings.Contains(texts.Stored, "made in") {
			return fmt.Errorf("the text was not encoded anew: %s", texts.Stored)
		}
		return nil
	}
	r.config = fmt.Sprintf("%d pairs, raw files to files of ids, one thread", slicePairs)
	forget := func() { os.RemoveAll(store) }
	return b.textRace(r, forget, work, slicePairs, "Moses tokenizer and subword-nmt", "encode_text.py", map[string]any{
		"folder": s.folder, "languages": []string{loadSource, loadTarget}, "codes": s.codes(),
		"vocabularies": vocabularies,
	})
}

// encodingWords makes ids of tokenised lines, which is all that the tokenizers package does of the work with the same
// merges.
func encodingWords(b *bench, r *race) error {
	s, vocabularies, err := b.slice()
	if err != nil {
		return err
	}
	d := loadSettings(merges)
	d.Tokenize, d.Codes, d.SourceVocabulary, d.TargetVocabulary = "none", s.codes(), vocabularies[0], vocabularies[1]
	pair, err := bitext.Learn(d, bitext.InMemory(s.lines[0], s.lines[1]), nil)
	if err != nil {
		return err
	}
	tokenised := corpus.Parallel{Source: corpus.Text{Lines: s.lines[0]}, Target: corpus.Text{Lines: s.lines[1]}}
	work := func() error {
		texts := &bitext.Texts{Train: tokenised, Valid: aValidation}
		return texts.Encode(pair, corpus.Limits{}, positions)
	}
	r.config = fmt.Sprintf("%d tokenised lines in memory to ids in memory, one thread", 2*slicePairs)
	return b.textRace(r, func() {}, work, 2*slicePairs, "tokenizers", "bpe_tokenizers.py",
		map[string]any{"work": "ids", "text": s.tokenised, "codes": s.codes()})
}
