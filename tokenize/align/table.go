package align

import (
	"math"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/mathext"
)

// table holds t(target word | source word), and expected counts, for words that occur together. A row is a source
// word's hash table of target words, with open addressing; rows lie one behind the other. Row 0, the empty word's, has
// every target word at the place of its id; source word e has row e+1.
type table struct {
	start []int     // of each row, and the end of the last
	keys  []int32   // target words, -1 for a free place
	prob  []float64 // of each place
	count []float64
}

// flat is t in the first iteration.
const flat = 1e-9

// newTable makes the table of a corpus, with flat probabilities.
func newTable(source, target *side) *table {
	words, vocabulary := len(source.words), len(target.words)
	occurrences, first := places(source)
	sizes := make([]int, words)
	// distinct calls f with each target word that occurs with a source word, once.
	distinct := func(word int, seen []int32, f func(int32)) {
		last := int32(-1)
		for _, k := range occurrences[first[word]:first[word+1]] {
			if k == last {
				continue
			}
			last = k
			for _, id := range target.sentence(int(k)) {
				if seen[id] != int32(word) {
					seen[id] = int32(word)
					f(id)
				}
			}
		}
	}
	fresh := func() []int32 {
		seen := make([]int32, vocabulary)
		for i := range seen {
			seen[i] = -1
		}
		return seen
	}
	each(words, 64, fresh, func(word int, seen []int32) {
		distinct(word, seen, func(int32) { sizes[word]++ })
	})
	t := &table{start: make([]int, words+2)}
	t.start[1] = vocabulary
	for word, n := range sizes {
		t.start[word+2] = t.start[word+1] + n + n/2 + 1 // at least a third is free: looking up is short, and ends
	}
	all := t.start[words+1]
	t.keys, t.prob, t.count = make([]int32, all), make([]float64, all), make([]float64, all)
	for i := range all {
		t.keys[i], t.prob[i] = -1, flat
	}
	for id := range vocabulary {
		t.keys[id] = int32(id)
	}
	each(words, 64, fresh, func(word int, seen []int32) {
		distinct(word, seen, func(id int32) { t.keys[t.find(word+1, id)] = id })
	})
	return t
}

// places lists, by source word, the pairs that it occurs in.
func places(s *side) (pairs []int32, first []int) {
	first = make([]int, len(s.words)+1)
	for _, id := range s.text {
		first[id+1]++
	}
	for id := range s.words {
		first[id+1] += first[id]
	}
	pairs = make([]int32, len(s.text))
	next := append([]int(nil), first...)
	for k := range s.ends {
		for _, id := range s.sentence(k) {
			pairs[next[id]] = int32(k)
			next[id]++
		}
	}
	return pairs, first
}

// find is the place of a target word in a row but the empty word's, or the free place where it would go.
func (t *table) find(row int, id int32) int {
	keys := t.keys[t.start[row]:t.start[row+1]]
	high, _ := bits.Mul32(uint32(id+1)*0x9E3779B1, uint32(len(keys)))
	at := int(high)
	for keys[at] != id && keys[at] >= 0 {
		if at++; at == len(keys) {
			at = 0
		}
	}
	return t.start[row] + at
}

// update turns counts into probabilities and clears them: with bayes the mean-field estimate under a symmetric
// Dirichlet prior of that concentration (section 2.1), else maximum likelihood.
func (t *table) update(bayes bool, alpha float64) {
	if !bayes {
		alpha = 0
	}
	each(len(t.start)-1, 64, none, func(row int, _ struct{}) {
		total := 0.0
		for at := t.start[row]; at < t.start[row+1]; at++ {
			if t.keys[at] >= 0 {
				total += t.count[at] + alpha
			}
		}
		of := mathext.Digamma(total)
		for at := t.start[row]; at < t.start[row+1]; at++ {
			switch {
			case t.keys[at] < 0:
			case bayes:
				t.prob[at] = math.Exp(mathext.Digamma(t.count[at]+alpha) - of)
			case total > 0:
				t.prob[at] = t.count[at] / total
			}
			t.count[at] = 0
		}
	})
}

func none() struct{} { return struct{}{} }

// each calls f for 0 to n-1 from several goroutines, in chunks; each goroutine has a value of its own.
func each[T any](n, chunk int, own func() T, f func(i int, own T)) {
	workers := min(runtime.GOMAXPROCS(0), (n+chunk-1)/chunk)
	if workers <= 1 {
		mine := own()
		for i := range n {
			f(i, mine)
		}
		return
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			mine := own()
			for {
				end := int(next.Add(int64(chunk)))
				for i := end - chunk; i < min(end, n); i++ {
					f(i, mine)
				}
				if end >= n {
					return
				}
			}
		})
	}
	wait.Wait()
}
