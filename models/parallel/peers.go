package parallel

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// patience is how long a process waits for the others to come to a collective while all of them live: as long as c10d
// does. A process may validate, or write a large checkpoint, before it comes.
const patience = 30 * time.Minute

// lateFile is how long a disk of the network may keep a new file from another machine.
const lateFile = 10 * time.Second

// Peers are the processes that train a model together, as one of them sees them.
type Peers struct {
	corpus.Share
	LocalRank int

	names []string // "rank 0 on host a (process 17)"
	group *torch.Group
	store *torch.Store
	watcher
}

// First reports whether this is the process that writes.
func (p *Peers) First() bool { return p == nil || p.Rank == 0 }

// Of is this process's share of the work.
func (p *Peers) Of() corpus.Share {
	if p == nil {
		return corpus.Share{}
	}
	return p.Share
}

// Count is how many processes there are.
func (p *Peers) Count() int { return max(1, p.Of().Size) }

// Barrier waits until all have come to it.
func (p *Peers) Barrier() error {
	if p == nil {
		return nil
	}
	return p.explain(p.group.Barrier())
}

// Gather gives everyone what each has, in the order of ranks.
func (p *Peers) Gather(data []byte) ([][]byte, error) {
	if p == nil {
		return [][]byte{data}, nil
	}
	parts, err := p.group.Gather(data)
	return parts, p.explain(err)
}

// Broadcast makes tensors what they are on rank 0.
func (p *Peers) Broadcast(tensors ...torch.Tensor) error {
	if p == nil {
		return nil
	}
	for _, x := range tensors {
		if err := p.group.Broadcast(x, 0); err != nil {
			return p.explain(err)
		}
	}
	return nil
}

// Sum makes tensors the sums of what they are on each.
func (p *Peers) Sum(tensors ...torch.Tensor) error {
	if p == nil {
		return nil
	}
	for _, x := range tensors {
		if err := p.group.Sum(x); err != nil {
			return p.explain(err)
		}
	}
	return nil
}

// Tensors adds to those of rank 0, by name, what each of the others has under names of its own.
func (p *Peers) Tensors(mine map[string]torch.Tensor) (map[string]torch.Tensor, error) {
	if p == nil {
		return mine, nil
	}
	var data bytes.Buffer
	if err := torch.WriteSafetensors(&data, mine, nil); err != nil {
		return nil, err
	}
	parts, err := p.Gather(data.Bytes())
	if err != nil || !p.First() {
		return mine, err
	}
	for _, part := range parts[1:] {
		theirs, err := torch.DecodeSafetensors(part, torch.CPU)
		if err != nil {
			return nil, err
		}
		maps.Copy(mine, theirs)
	}
	return mine, nil
}

// Any is the first number that is not 0 among those that the processes give.
func (p *Peers) Any(number int) (int, error) {
	all, err := p.Numbers(float64(number))
	for _, x := range all {
		if x[0] != 0 {
			return int(x[0]), err
		}
	}
	return 0, err
}

// InTurn runs f on the first process of each machine, and after that on the others, which find what it left in caches.
func (p *Peers) InTurn(f func() error) error {
	if p == nil || p.LocalRank == 0 {
		if err := f(); err != nil {
			return err
		}
		return p.Barrier()
	}
	if err := p.Barrier(); err != nil {
		return err
	}
	return f()
}

// OnFirst runs f on rank 0 alone, and gives everyone what it returns.
func OnFirst[T any](p *Peers, f func() (T, error)) (value T, err error) {
	var data []byte
	if p.First() {
		if value, err = f(); err != nil || p == nil {
			return value, err
		}
		data = encoded(value)
	}
	parts, err := p.Gather(data)
	if err != nil {
		return value, err
	}
	return value, decode(parts[0], &value)
}

// Agree is an error where a process has another text than rank 0, line by line: it names the first that has, and the
// line.
func (p *Peers) Agree(what, text string) error {
	parts, err := p.Gather([]byte(text))
	if err != nil {
		return err
	}
	wanted := strings.Split(string(parts[0]), "\n")
	for r, part := range parts {
		if string(part) == string(parts[0]) {
			continue
		}
		for i, line := range strings.Split(string(part), "\n") {
			if i >= len(wanted) || line != wanted[i] {
				return refused("%s has another %s than rank 0: %q, and not %q: start all with the same", p.names[r],
					what, strings.TrimSpace(line),
					strings.TrimSpace(strings.Join(wanted[min(i, len(wanted)):min(i+1, len(wanted))], "")))
			}
		}
		return refused("%s has a shorter %s than rank 0: start all with the same", p.names[r], what)
	}
	return nil
}

// SameFile is an error where a process does not read at a path what rank 0 has written there: it names the first. A
// disk of the network may show a new file late.
func (p *Peers) SameFile(path string) error {
	if p == nil {
		return nil
	}
	read := func() []byte {
		text, _ := os.ReadFile(path) // what cannot be read is not the same
		sum := sha256.Sum256(text)
		return sum[:]
	}
	var mine []byte
	if p.First() {
		mine = read()
	}
	parts, err := p.Gather(mine)
	if err != nil {
		return err
	}
	same := bytes.Equal(parts[0], read())
	for deadline := time.Now().Add(lateFile); !same && time.Now().Before(deadline); time.Sleep(beat / 5) {
		same = bytes.Equal(parts[0], read())
	}
	found := path // where rank 0 wrote it, or where another did not find it
	if same && !p.First() {
		found = ""
	}
	paths, err := p.Gather([]byte(found))
	if err != nil {
		return err
	}
	for r, place := range paths[1:] {
		if len(place) > 0 {
			return refused("%s does not find at %s what rank 0 wrote at %s: all processes need one folder, on a disk "+
				"that all of them see", p.names[r+1], place, paths[0])
		}
	}
	return nil
}

// Shared does pieces of work of these costs, above 0, each on one process, and gives everyone all results, in the order
// of the pieces.
func Shared[T any](p *Peers, costs []int, work func(piece int) (T, error)) ([]T, error) {
	all := make([]T, len(costs))
	hands := p.Of().Deal(costs)
	var mine []T
	for _, i := range hands[p.Of().Rank] {
		x, err := work(i)
		if err != nil {
			return nil, err
		}
		all[i] = x
		mine = append(mine, x)
	}
	if p == nil {
		return all, nil
	}
	parts, err := p.Gather(encoded(mine))
	if err != nil {
		return nil, err
	}
	for r, hand := range hands {
		var theirs []T
		if err := decode(parts[r], &theirs); err != nil {
			return nil, err
		}
		for k, i := range hand {
			all[i] = theirs[k]
		}
	}
	return all, nil
}

// encoded is a value as the others read it; numbers keep every bit, and need not be finite.
func encoded(value any) []byte {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(value); err != nil {
		panic(err) // a type that gob does not know
	}
	return b.Bytes()
}

func decode(data []byte, value any) error { return gob.NewDecoder(bytes.NewReader(data)).Decode(value) }
