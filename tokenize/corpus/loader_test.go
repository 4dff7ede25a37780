package corpus

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// corpusOf makes pairs of varied lengths.
func corpusOf(n int) List {
	pairs := make(List, n)
	for i := range pairs {
		pairs[i] = pairOf(i+1, 1+i*7%13, 1+i*5%11)
	}
	return pairs
}

func open(t *testing.T, pairs Pairs, options Options, from Position) *Loader {
	t.Helper()
	l, err := NewLoader(pairs, options, from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func take(t *testing.T, l *Loader, n int) []Update {
	t.Helper()
	updates := make([]Update, n)
	for i := range updates {
		var err error
		if updates[i], err = l.Next(); err != nil {
			t.Fatal(err)
		}
	}
	return updates
}

func TestLoaderGroupsBatches(t *testing.T) {
	pairs := corpusOf(100)
	l := open(t, pairs, Options{BatchSettings: BatchSettings{MaxTokens: 70}, Accumulate: 4, Seed: 3}, Position{})
	perEpoch := l.UpdatesPerEpoch()
	if b := l.BatchesPerEpoch(); b%4 == 0 || perEpoch != b/4+1 {
		t.Fatalf("%d batches make %d updates; the test wants a ragged last one", b, perEpoch)
	}
	wantTokens := 0
	for _, p := range pairs {
		wantTokens += len(p.Target) + 1
	}
	for epoch := range 3 {
		tokens, batches, seen := 0, 0, map[int]bool{}
		for i, u := range take(t, l, perEpoch) {
			sentences, groupTokens := 0, 0
			for _, b := range u.Batches {
				sentences += b.Rows
				groupTokens += b.Tokens
				for _, line := range b.Lines {
					seen[line] = true
				}
			}
			if u.Sentences != sentences || u.Tokens != groupTokens {
				t.Errorf("update says %d sentences, %d tokens, its batches %d and %d", u.Sentences, u.Tokens, sentences,
					groupTokens)
			}
			tokens, batches = tokens+u.Tokens, batches+len(u.Batches)
			last := i == perEpoch-1
			want := Position{epoch, batches}
			if last {
				want = Position{epoch + 1, 0}
			}
			if u.LastOfEpoch != last || u.Position != want {
				t.Errorf("epoch %d update %d: position %v, last %v", epoch, i, u.Position, u.LastOfEpoch)
			}
			if !last && len(u.Batches) != 4 {
				t.Errorf("update %d has %d batches", i, len(u.Batches))
			}
		}
		if tokens != wantTokens || len(seen) != len(pairs) || batches != l.BatchesPerEpoch() {
			t.Errorf("epoch %d: %d tokens of %d, %d pairs of %d, %d batches of %d", epoch, tokens, wantTokens,
				len(seen), len(pairs), batches, l.BatchesPerEpoch())
		}
	}
}

func TestLoaderResumesAnywhere(t *testing.T) {
	pairs, options := corpusOf(60), Options{BatchSettings: BatchSettings{MaxTokens: 50}, Accumulate: 3, Seed: 9}
	straight := open(t, pairs, options, Position{})
	n := 2*straight.UpdatesPerEpoch() + 2
	whole := take(t, straight, n)
	for done := range n {
		from := Position{}
		if done > 0 {
			from = whole[done-1].Position
		}
		resumed, err := NewLoader(pairs, options, from)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole[done:], take(t, resumed, n-done)); diff != "" {
			t.Errorf("after %v: %s", from, diff)
		}
		resumed.Close()
	}
	// The place behind the last batch is the start of the next epoch.
	end := open(t, pairs, options, Position{0, straight.BatchesPerEpoch()})
	if diff := cmp.Diff(whole[straight.UpdatesPerEpoch()], take(t, end, 1)[0]); diff != "" {
		t.Error(diff)
	}
}

func TestLoaderOrderFollowsSeedAndEpoch(t *testing.T) {
	pairs := corpusOf(200)
	lines := func(seed uint64, epoch int) []int {
		l := open(t, pairs, Options{BatchSettings: BatchSettings{MaxTokens: 40}, Seed: seed}, Position{Epoch: epoch})
		var all []int
		for _, u := range take(t, l, l.UpdatesPerEpoch()) {
			for _, b := range u.Batches {
				all = append(all, b.Lines...)
			}
		}
		return all
	}
	base := lines(1, 0)
	if diff := cmp.Diff(base, lines(1, 0)); diff != "" {
		t.Errorf("same seed and epoch, another order: %s", diff)
	}
	if cmp.Equal(base, lines(1, 1)) || cmp.Equal(base, lines(2, 0)) || cmp.Equal(lines(2, 0), lines(1, 1)) {
		t.Error("two seeds or epochs have the same order")
	}
}

func TestLoaderCloseLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 20 {
		l, err := NewLoader(corpusOf(50), Options{BatchSettings: BatchSettings{MaxTokens: 30}}, Position{})
		if err != nil {
			t.Fatal(err)
		}
		take(t, l, 2)
		l.Close()
		l.Close()
		_, err = l.Next()
		mustName(t, err, "closed")
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines before, %d after", before, runtime.NumGoroutine())
		}
	}
}

func TestLoaderCloseWakesNext(t *testing.T) {
	l := open(t, corpusOf(50), Options{BatchSettings: BatchSettings{MaxTokens: 30}}, Position{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				if _, err := l.Next(); err != nil {
					return
				}
			}
		})
	}
	l.Close()
	readers.Wait()
}

func TestNewLoaderErrors(t *testing.T) {
	pairs := corpusOf(10)
	_, err := NewLoader(List{}, Options{BatchSettings: BatchSettings{MaxTokens: 10}}, Position{})
	mustName(t, err, "no sentence pairs")
	_, err = NewLoader(pairs, Options{}, Position{})
	mustName(t, err, "train.max_tokens")
	_, err = NewLoader(append(pairs, pairOf(77, 3, 99)), Options{BatchSettings: BatchSettings{MaxTokens: 99}},
		Position{})
	mustName(t, err, "pair 77", "100 tokens", "train.max_tokens (99)", "data.max_length")
	_, err = NewLoader(pairs, Options{BatchSettings: BatchSettings{MaxTokens: 50}}, Position{Epoch: 2, Batch: 5000})
	mustName(t, err, "batch 5000 of epoch 2", "train.max_tokens")
}

// TestPanicOfThePreparation: what goes wrong in the loader's goroutine is an error of Next, and Close still ends.
func TestPanicOfThePreparation(t *testing.T) {
	pairs := List{{Source: []int32{5, 2}, Target: []int32{6, 2}, Line: 1}}
	l := &Loader{
		// NewLoader refuses it: batches end before they begin
		pairs: pairs, options: Options{BatchSettings: BatchSettings{MaxTokens: 10}, Accumulate: -1},
		epochs: newEpochs(pairs, budget{10, 0, 1}, 0), updates: make(chan Update), quit: make(chan struct{}),
	}
	l.start(Position{})
	for range 2 {
		_, err := l.Next()
		var panicked *Panic
		if !errors.As(err, &panicked) || !strings.Contains(err.Error(), "preparing batches: runtime error") ||
			!strings.Contains(string(panicked.PanicStack()), "loader.go") {
			t.Fatalf("Next gives %v", err)
		}
	}
	l.Close()
	if _, err := l.Next(); err == nil {
		t.Error("there are updates after Close")
	}
}
