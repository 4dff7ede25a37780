package corpus

import (
	"cmp"
	"fmt"
	"runtime"
	"sync"
)

// blockLines is how many lines a worker gets at a time.
const blockLines = 2048

// blockBytes end a block before that: lines may be long, and two blocks for each worker are in memory.
const blockBytes = 4 << 20

// Blocks hands the lines of texts of equal length to [Ordered]'s workers in blocks, one slice for each text.
func Blocks[R any](texts []Text, worker func() (func(lines [][]string) (R, error), error), take func(R) error) error {
	return Ordered(func(give func([][]string) bool) error { return cutBlocks(texts, give) }, worker, take)
}

// Ordered hands what produce gives to one worker a processor, and the results to take, in produce's order and the
// caller's goroutine. worker makes what one of them runs, with memory of its own. The first error ends the work: give
// is then false.
func Ordered[T, R any](
	produce func(give func(T) bool) error, worker func() (func(T) (R, error), error), take func(R) error,
) error {
	workers := runtime.GOMAXPROCS(0)
	order, todo := make(chan *job[T, R], 2*workers), make(chan *job[T, R], 2*workers)
	quit := make(chan struct{})
	var running sync.WaitGroup
	defer running.Wait()
	defer close(quit)

	for range workers {
		work, err := worker()
		if err != nil {
			close(todo)
			return err
		}
		running.Go(func() {
			for j := range todo {
				j.run(work)
			}
		})
	}
	running.Go(func() {
		defer close(order)
		defer close(todo)
		give := func(j *job[T, R]) bool {
			select {
			case order <- j:
				return true
			case <-quit:
				return false
			}
		}
		err := Guard(func() error {
			return produce(func(item T) bool {
				j := &job[T, R]{item: item, done: make(chan struct{})}
				if !give(j) {
					return false
				}
				todo <- j // has as much room as order
				return true
			})
		})
		if err != nil {
			failed := &job[T, R]{err: err, done: make(chan struct{})}
			close(failed.done)
			give(failed)
		}
	})
	for j := range order {
		<-j.done
		if j.err != nil {
			return j.err
		}
		if err := take(j.result); err != nil {
			return err
		}
	}
	return nil
}

// job is an item on its way through a worker.
type job[T, R any] struct {
	item   T
	result R
	err    error
	done   chan struct{}
}

func (j *job[T, R]) run(work func(T) (R, error)) {
	defer close(j.done)
	j.err = Guard(func() (err error) {
		j.result, err = work(j.item)
		return err
	})
}

// cutBlocks reads texts side by side, until give is false.
func cutBlocks(texts []Text, give func(lines [][]string) bool) error {
	readers := make([]*lineReader, len(texts))
	for i, t := range texts {
		if t.Lines != nil || t.count == 0 {
			continue
		}
		r, err := openLines(t.place, "-train")
		if err != nil {
			return err
		}
		defer r.Close()
		r.unhashed() // its sum is known
		readers[i] = r
	}
	total := texts[0].Len()
	for first := 0; first < total; {
		block := make([][]string, len(texts))
		n, size := 0, 0
		for ; n < blockLines && size < blockBytes && first+n < total; n++ {
			for i, r := range readers {
				if r == nil {
					continue
				}
				if !r.next() {
					return cmp.Or(r.failed, texts[i].changed())
				}
				block[i] = append(block[i], string(r.line))
				size += len(r.line)
			}
		}
		for i, r := range readers {
			if r == nil {
				block[i] = texts[i].Lines[first : first+n]
			}
		}
		first += n
		if !give(block) {
			return nil
		}
	}
	for i, r := range readers {
		if r == nil {
			continue
		}
		if now, err := identify(r.file.File); err != nil || now != texts[i].file || r.next() {
			return texts[i].changed()
		}
	}
	return nil
}

func (t Text) changed() error {
	return fmt.Errorf("%s changed while it was being read: run again once it stays as it is", t.Path)
}
