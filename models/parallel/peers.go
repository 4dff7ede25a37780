package parallel

import (
	"bytes"
	"cmp"
	"encoding/gob"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// patience is how long a process waits for the others to come to a collective while all of them live: as long as c10d
// does. A process may validate, or write a large checkpoint, before it comes.
const patience = 30 * time.Minute

// Peers are the processes that train a model together, as one of them sees them.
type Peers struct {
	corpus.Share
	LocalRank int

	names []string // "rank 0 on host a (process 17)"
	group *torch.Group
	store *torch.Store
	watcher
}

// Join makes this process one of a group that trains together, and gives nil to one that is by itself. It waits until
// all have come: five minutes after the last one came, or as long as silence allows where that is more, it is an error
// that names who is missing. One that was started again after its group had begun waits for the end of that, which
// others bring about when they find its predecessor gone, and joins the next. Where another process fails later and
// this one does not learn of it by a collective, end gets the error and has to end the process.
func Join(e Environment, silence time.Duration, end func(error)) (*Peers, error) {
	if e.Size == 0 {
		return nil, nil
	}
	host, _ := os.Hostname()
	p := &Peers{Share: e.Share, LocalRank: e.LocalRank, names: make([]string, e.Size)}
	p.watcher = watcher{rank: e.Rank, silence: silence, end: end, server: e.Rank == 0 && !e.Served}
	name := fmt.Sprintf("rank %d on %s (process %d)", e.Rank, host, os.Getpid())
	var err error
	for deadline := time.Now().Add(silence + 4*brief); ; time.Sleep(beat) {
		if err = p.open(e); err == nil {
			err = p.meet(name)
		}
		if !errors.Is(err, errBegun) || time.Now().After(deadline) {
			break
		}
		p.store.Close()
		p.watcher.store.Close()
	}
	if err == nil {
		p.watcher.next = p.names[(e.Rank+1)%e.Size]
		p.start(e.Size)
		p.group, err = torch.JoinGroup(p.store, e.Rank, e.Size, localAddress(e), patience)
		err = p.explain(err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot join the others at %s:%d: %w", name, e.Address, e.Port, err)
	}
	return p, nil
}

// open connects to the store, and once more for the watcher. Where the store is not the launcher's, rank 0 serves it,
// maybe later than others come: at the address by which they reach this machine or, where there is a token, behind a
// gate there.
func (p *Peers) open(e Environment) (err error) {
	patience := max(p.silence, 10*time.Second)
	connect := func(to **torch.Store, host string, port int, server bool) {
		if err == nil {
			*to, err = torch.OpenStore(host, port, server, e.Prefix, patience)
		}
	}
	if e.Served || e.Token == "" {
		host := e.Address
		if p.server {
			host = localAddress(e)
		}
		connect(&p.store, host, e.Port, p.server)
		connect(&p.watcher.store, host, e.Port, false)
		if err != nil && !e.Served && !p.server {
			err = fmt.Errorf("%w; where rank 0 has an %s, this process needs the same", err, tokenVariable)
		}
		return err
	}
	g, err := newGate(e.Token)
	if err != nil {
		return err
	}
	if p.server {
		connect(&p.store, loopback, 0, true)
		if err == nil {
			err = g.open(net.JoinHostPort(localAddress(e), strconv.Itoa(e.Port)), p.store.Port)
		}
		if err == nil {
			connect(&p.watcher.store, loopback, p.store.Port, false)
		}
		return err
	}
	for _, store := range []**torch.Store{&p.store, &p.watcher.store} {
		port := 0
		if err == nil {
			port, err = g.reach(net.JoinHostPort(e.Address, strconv.Itoa(e.Port)), patience)
		}
		connect(store, loopback, port, false)
	}
	return err
}

// errBegun says that a process comes to a group that all have joined.
var errBegun = errors.New("the processes there have all come, and go on without this one: if they are another run's, " +
	"choose another MASTER_PORT")

// meet tells the others who this process is, and waits until all have told.
func (p *Peers) meet(name string) error {
	if begun, err := p.store.Get(begunKey); err != nil || begun != "" {
		return cmp.Or(err, errBegun)
	}
	if err := p.store.Set(fmt.Sprint("name/", p.Rank), name); err != nil {
		return err
	}
	last := time.Now()
	for r := range p.names {
		for p.names[r] == "" {
			var err error
			if p.names[r], err = read(p.store, fmt.Sprint("name/", r)); err != nil {
				return err
			}
			if failed, err := read(p.store, failedKey); err != nil || failed != "" {
				return &Failure{failed, err}
			}
			switch {
			case p.names[r] != "":
				last = time.Now()
			case time.Since(last) > max(p.silence, 5*time.Minute):
				return fmt.Errorf("rank %d of %d has not come", r, p.Size)
			default:
				time.Sleep(50 * time.Millisecond)
			}
		}
	}
	return p.store.Set(begunKey, "1")
}

// localAddress is the address of this machine at which the others reach it: the one from which it reaches the store,
// and the loopback where there is no other machine.
func localAddress(e Environment) string {
	if e.LocalSize == e.Size {
		return loopback
	}
	c, err := net.Dial("udp", net.JoinHostPort(e.Address, fmt.Sprint(e.Port))) // sends nothing
	if err != nil {
		return e.Address
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).IP.String()
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
