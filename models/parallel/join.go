package parallel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/torch"
)

// ncclInterface names the network interface that NCCL uses.
const ncclInterface = "NCCL_SOCKET_IFNAME"

// Join makes this process one of a group that trains together, and gives nil to one that is by itself. It waits until
// all have come: five minutes after the last one came, or as long as silence allows where that is more, it is an error
// that names who is missing. One that was started again after its group had begun waits for the end of that, which
// others bring about when they find its predecessor gone, and joins the next. waiting, if it is not nil, hears whom
// this process waits for, when that has taken a while. Where ctx ends first the error is its cause, and the others hear
// of it. Where another process fails later and this one does not learn of it by a collective, end gets the error and
// has to end the process.
func Join(ctx context.Context, e Environment, silence time.Duration, waiting func(rank int), end func(error)) (*Peers,
	error) {
	if e.Size == 0 {
		return nil, nil
	}
	if e.LocalSize == e.Size && os.Getenv(ncclInterface) == "" {
		os.Setenv(ncclInterface, "lo") // NCCL would listen at the machine's outer address
	}
	host, _ := os.Hostname()
	p := &Peers{Share: e.Share, LocalRank: e.LocalRank, names: make([]string, e.Size)}
	p.watcher = watcher{rank: e.Rank, silence: silence, end: end, server: e.Rank == 0 && !e.Served}
	name := fmt.Sprintf("rank %d on %s (process %d)", e.Rank, host, os.Getpid())
	come := make(chan error, 1)
	go func() { come <- p.come(ctx, e, name, waiting) }()
	var err error
	select {
	case err = <-come:
	case <-ctx.Done():
		select { // the others hear of it, unless this process waits for the store itself
		case err = <-come:
		case <-time.After(2 * beat):
			err = ctx.Err()
		}
	}
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
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

// come waits until all have come, to a group that has not begun.
func (p *Peers) come(ctx context.Context, e Environment, name string, waiting func(rank int)) error {
	for deadline := time.Now().Add(p.silence + 4*brief); ; time.Sleep(beat) {
		err := p.open(ctx, e, waiting)
		if err == nil {
			err = p.meet(ctx, name, waiting)
		}
		if !errors.Is(err, errBegun) || time.Now().After(deadline) || ctx.Err() != nil {
			return err
		}
		p.store.Close()
		p.watcher.store.Close()
	}
}

// open connects to the store, and once more for the watcher. Where the store is not the launcher's, rank 0 serves it,
// maybe later than others come: at the address by which they reach this machine or, where there is a token, behind a
// gate there.
func (p *Peers) open(ctx context.Context, e Environment, waiting func(rank int)) (err error) {
	patience := max(p.silence, 10*time.Second)
	host, port := e.Address, strconv.Itoa(e.Port)
	if !e.Served {
		if _, to, err := route(net.JoinHostPort(host, port)); p.server || err == nil && isAlias(to) {
			host = localAddress(e)
		}
	}
	at := net.JoinHostPort(host, port)
	if !e.Served && !p.server {
		if err := p.await(ctx, at, waiting); err != nil {
			return err
		}
	}
	connect := func(to **torch.Store, host string, port int, server bool) {
		if err == nil {
			*to, err = torch.OpenStore(host, port, server, e.Prefix, patience)
		}
	}
	if e.Served || e.Token == "" {
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
			err = g.open(at, p.store.Port)
		}
		if err == nil {
			connect(&p.watcher.store, loopback, p.store.Port, false)
		}
		return err
	}
	for _, store := range []**torch.Store{&p.store, &p.watcher.store} {
		port := 0
		if err == nil {
			port, err = g.reach(at)
		}
		connect(store, loopback, port, false)
	}
	return err
}

// await waits until rank 0 listens at an address, as long as meet waits for the others.
func (p *Peers) await(ctx context.Context, at string, waiting func(rank int)) error {
	said := false
	for begin := time.Now(); ; time.Sleep(beat) {
		c, err := net.DialTimeout("tcp", at, brief)
		if err == nil {
			return c.Close()
		}
		waited := time.Since(begin)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case waited > p.late():
			return fmt.Errorf("%w (%v)", p.absent(0), err)
		case waited > brief && !said && waiting != nil:
			waiting(0)
			said = true
		}
	}
}

// late is how long a process waits for another to come.
func (p *Peers) late() time.Duration { return max(p.silence, 5*time.Minute) }

func (p *Peers) absent(rank int) error {
	return fmt.Errorf("rank %d of %d has not come: see what it says, and start all of them again", rank, p.Size)
}

// errBegun says that a process comes to a group that all have joined.
var errBegun = errors.New("the processes there have all come, and go on without this one: if they are another run's, " +
	"choose another MASTER_PORT")

// meet tells the others who this process is, and waits until all have told.
func (p *Peers) meet(ctx context.Context, name string, waiting func(rank int)) error {
	if begun, err := p.store.Get(begunKey); err != nil || begun != "" {
		return cmp.Or(err, errBegun)
	}
	size, err := p.store.First(sizeKey, fmt.Sprint(p.Size))
	if err != nil {
		return err
	}
	if size != fmt.Sprint(p.Size) {
		return p.fail(fmt.Sprintf("%s is to be one of %d processes, and the first that came one of %s: start all with "+
			"the same number", name, p.Size, files.Shown(size)))
	}
	if err := p.store.Set(fmt.Sprint("name/", p.Rank), name); err != nil {
		return err
	}
	last := time.Now()
	said := -1 // the rank that waiting heard of
	for r := range p.names {
		for p.names[r] == "" {
			if p.names[r], err = read(p.store, fmt.Sprint("name/", r)); err != nil {
				return err
			}
			if failed, err := read(p.store, failedKey); err != nil || failed != "" {
				return &Failure{failed, err}
			}
			waited := time.Since(last)
			switch {
			case p.names[r] != "":
				last = time.Now()
			case ctx.Err() != nil:
				return p.fail(name + " was stopped by a signal before all had come")
			case waited > p.late():
				return p.absent(r)
			case waited > brief && said != r && waiting != nil:
				waiting(r)
				said = r
			default:
				time.Sleep(50 * time.Millisecond)
			}
		}
	}
	return p.store.Set(begunKey, "1")
}

// fail tells the others that the group fails, and returns what all say.
func (p *Peers) fail(said string) error {
	first, err := p.store.First(failedKey, said)
	return &Failure{files.Shown(first), err}
}

// localAddress is the address of this machine at which the others reach it: the one from which it reaches the store,
// and the loopback where there is no other machine.
func localAddress(e Environment) string {
	if e.LocalSize == e.Size {
		return loopback
	}
	from, to, err := route(net.JoinHostPort(e.Address, strconv.Itoa(e.Port)))
	if err != nil {
		return e.Address
	}
	if isAlias(to) {
		for _, outside := range []string{"192.0.2.1:9", "[2001:db8::1]:9"} { // of no machine: examples of documents
			if from, _, err := route(outside); err == nil {
				return from.String()
			}
		}
		return to.String()
	}
	return from.String()
}

// isAlias reports whether a name of an address is this machine's own, to which its table of hosts gives an address of
// the loopback like 127.0.1.1, as Debian's does. Other machines know it by another one.
func isAlias(to net.IP) bool {
	return to.IsLoopback() && to.String() != loopback && !to.Equal(net.IPv6loopback)
}

// route gives this machine's address on the way to another, and that one's. It sends nothing.
func route(address string) (from, to net.IP, err error) {
	c, err := net.Dial("udp", address)
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).IP, c.RemoteAddr().(*net.UDPAddr).IP, nil
}
