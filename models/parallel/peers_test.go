package parallel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aperture-ml/aperture/torch"
)

// scene tells a process of these tests what to play.
const scene = "APERTURE_TEST_SCENE"

// scenes are what each of three processes does, as a member; it returns what it says.
var scenes = map[string]func(t *testing.T, p *Peers) error{
	"together": func(t *testing.T, p *Peers) error {
		squares, err := Shared(p, []int{5, 1, 1, 1, 9}, func(i int) (float64, error) {
			if i == 3 {
				return math.NaN(), nil
			}
			return float64(i * i), nil
		})
		if err != nil || len(squares) != 5 || squares[4] != 16 || !math.IsNaN(squares[3]) {
			t.Errorf("shared work gives %v (%v)", squares, err)
		}
		first, err := OnFirst(p, func() (string, error) { return fmt.Sprint("from ", p.Rank), nil })
		if err != nil || first != "from 0" {
			t.Errorf("the first says %q (%v)", first, err)
		}
		if any, err := p.Any(p.Rank * 7); any != 7 || err != nil {
			t.Errorf("any is %v (%v)", any, err)
		}
		x := torch.Full(float64(p.Rank), torch.Float32, torch.CPU, 2)
		if err := p.Sum(x); err != nil || x.Float32s()[1] != 3 {
			t.Errorf("the sum is %v (%v)", x.Float32s(), err)
		}
		all, err := p.Tensors(map[string]torch.Tensor{fmt.Sprint("of", p.Rank): x})
		if err != nil || p.First() && len(all) != 3 {
			t.Errorf("%d tensors are collected (%v)", len(all), err)
		}
		if err := p.SameWeights([]torch.Tensor{x}); err != nil {
			t.Error(err)
		}
		if err := p.InTurn(func() error { return nil }); err != nil {
			t.Error(err)
		}
		return p.Agree("setting", "a\nb")
	},
	"differ": func(_ *testing.T, p *Peers) error {
		return p.Agree("setting", fmt.Sprint("a\nb = ", p.Rank/2))
	},
	"apart": func(_ *testing.T, p *Peers) error {
		return p.SameWeights([]torch.Tensor{torch.Full(float64(p.Rank/2), torch.Float32, torch.CPU, 2)})
	},
	"broken": func(_ *testing.T, p *Peers) error {
		if err := p.Barrier(); err != nil { // all have joined
			return err
		}
		if p.Rank == 1 {
			return errors.New("its disk is full")
		}
		return p.Barrier()
	},
	"broken first": func(_ *testing.T, p *Peers) error {
		if err := p.Barrier(); err != nil {
			return err
		}
		if p.Rank == 0 {
			return errors.New("its disk is full")
		}
		return p.Barrier()
	},
	"visited": func(_ *testing.T, p *Peers) error {
		for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
			if time.Since(begin) > 30*time.Second {
				return errors.New("nobody has come")
			}
			told, err := p.store.Get("visited")
			if err != nil {
				return err
			}
			if all, err := p.Any(len(told)); err != nil || all != 0 {
				return err
			}
		}
	},
	"gone": func(_ *testing.T, p *Peers) error {
		if err := p.Barrier(); err != nil {
			return err
		}
		if p.Rank == 1 {
			os.Exit(3)
		}
		return p.Barrier()
	},
}

// play starts three processes of this test, which play a scene by a store of this process, and gives what each says at
// its end.
func play(t *testing.T, name string) [3]string {
	t.Helper()
	store, err := torch.OpenStore(loopback, 0, true, "aperture//", 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	return playAt(t, name, func() {}, fmt.Sprint("MASTER_PORT=", store.Port), "TORCHELASTIC_USE_AGENT_STORE=True")
}

// playAt is play with these variables, while another one acts too.
func playAt(t *testing.T, name string, meanwhile func(), variables ...string) (said [3]string) {
	t.Helper()
	var commands [3]*exec.Cmd
	var outputs [3]bytes.Buffer
	for rank := range commands {
		c := exec.Command(os.Args[0], "-test.run=^TestPeers$")
		c.Env = append(os.Environ(), scene+"="+name, fmt.Sprint("RANK=", rank), "WORLD_SIZE=3", "MASTER_ADDR="+loopback,
			"OMP_NUM_THREADS=1")
		c.Env = append(c.Env, variables...)
		c.Stdout, c.Stderr = &outputs[rank], &outputs[rank]
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		commands[rank] = c
	}
	meanwhile()
	for rank, c := range commands {
		if err := c.Wait(); err != nil && c.ProcessState.ExitCode() != 3 {
			t.Errorf("%s: rank %d: %v\n%s", name, rank, err, &outputs[rank])
		}
		for line := range strings.Lines(outputs[rank].String()) {
			if text, found := strings.CutPrefix(line, "says: "); found {
				said[rank] = strings.TrimSpace(text)
			}
		}
	}
	return said
}

func TestPeers(t *testing.T) {
	if name := os.Getenv(scene); name != "" {
		torch.Test(t, func() {
			e, err := FromEnvironment()
			if err != nil {
				t.Fatal(err)
			}
			p, err := Join(t.Context(), e, 3*time.Second, nil, func(err error) { fmt.Println("says: forced:", err); os.Exit(3) })
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Leave(scenes[name](t, p), false); err != nil {
				fmt.Println("says:", err)
			}
		})
		return
	}
	for _, c := range []struct{ name, want string }{
		{"together", ""},
		{"differ", `rank 2 on HOST has another setting than rank 0: "b = 1", and not "b = 0"`},
		{"apart", "the weights of rank 2 on HOST are no longer those of rank 0"},
		{"broken", "rank 1 on HOST failed: its disk is full"},
		{"gone", "rank 1 on HOST has given no sign of life"},
	} {
		said := play(t, c.name)
		for rank, text := range said {
			if c.name == "gone" && rank == 1 {
				continue
			}
			host, _ := os.Hostname()
			if i, j := strings.Index(text, " (process"), strings.Index(text, ") "); i > 0 && j > i {
				text = text[:i] + text[j+1:]
			}
			if want := strings.ReplaceAll(c.want, "HOST", host); !strings.HasPrefix(text, want) || want == "" &&
				text != "" {
				t.Errorf("%s: rank %d says %q, not %q", c.name, rank, text, want)
			}
		}
	}
}

// unused is an address of the loopback at which nobody listens, and its port.
func unused(t *testing.T) (address string, port int) {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String(), l.Addr().(*net.TCPAddr).Port
}

// The others know why rank 0 has gone, although the store that it served has gone as well.
func TestServerFails(t *testing.T) {
	_, port := unused(t)
	said := playAt(t, "broken first", func() {}, fmt.Sprint("MASTER_PORT=", port))
	for rank, text := range said {
		if !strings.HasPrefix(text, "rank 0 on ") || !strings.HasSuffix(text, " failed: its disk is full") {
			t.Errorf("rank %d says %q", rank, text)
		}
	}
}

// A process waits for the one that serves the store as for any other, and says so.
func TestServerIsLate(t *testing.T) {
	address, port := unused(t)
	t.Setenv(ncclInterface, "")
	stopped := errors.New("stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	e := Environment{Share: share(1, 2), LocalSize: 2, Address: loopback, Port: port}
	heard := -1
	_, err := Join(ctx, e, time.Second, func(rank int) { heard = rank; stop(stopped) }, nil)
	if err != stopped || heard != 0 {
		t.Errorf("it waits for rank %d, and ends with %v", heard, err)
	}
	if on := os.Getenv(ncclInterface); on != "lo" {
		t.Errorf("processes of one machine let NCCL listen on %q", on)
	}
	p := &Peers{Share: share(1, 2)}
	go func() {
		time.Sleep(2 * beat)
		if l, err := net.Listen("tcp", address); err == nil {
			defer l.Close()
			l.Accept()
		}
	}()
	if err := p.await(t.Context(), address, nil); err != nil {
		t.Error(err)
	}
}

// TestLocalAddress: where the table of hosts gives a machine's own name an address of the loopback, other machines do
// not reach it there.
func TestLocalAddress(t *testing.T) {
	e := Environment{Share: share(0, 2), LocalSize: 1, Address: loopback, Port: 9}
	if got := localAddress(e); got != loopback {
		t.Errorf("the loopback is reached from %s", got)
	}
	e.LocalSize, e.Address = 2, "127.0.1.1"
	if got := localAddress(e); got != loopback {
		t.Errorf("processes of one machine meet at %s", got)
	}
	e.LocalSize = 1
	switch got := localAddress(e); {
	case got == e.Address:
		t.Skip("this machine has no route to another one")
	case net.ParseIP(got).IsLoopback():
		t.Errorf("it listens at %s", got)
	}
}

// Where two processes are killed, the last of them rank 0, somebody still says what happened.
func TestLaunchSaysWhoWasKilled(t *testing.T) {
	if os.Getenv(launched) != "" {
		if os.Getenv("RANK") == "0" {
			time.Sleep(beat)
		}
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	err := Launch(2, []string{"-test.run=^TestLaunchSaysWhoWasKilled$"}, 10*time.Second)
	if err == nil || !strings.HasPrefix(err.Error(), "rank 1 (process ") ||
		!strings.Contains(err.Error(), "was ended by signal 9") {
		t.Errorf("it says %v", err)
	}
}

// What a process writes to standard error is kept to its end alone.
func TestTail(t *testing.T) {
	var last tail
	c := exec.Command("sh", "-c", "yes | head -c 300000 >&2; echo 'aperture: it ended' >&2")
	c.Stderr = &last
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	if n := last.kept.Len(); n != tailBytes || last.sentence() != "it ended" {
		t.Errorf("%d bytes are kept, and the sentence %.80q", n, last.sentence())
	}
}

// A group that all have joined takes nobody else, not even one who has been there.
func TestMeetOnce(t *testing.T) {
	store, err := torch.OpenStore(loopback, 0, true, "aperture//", 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	p := &Peers{store: store, names: make([]string, 1)}
	if err := p.meet(t.Context(), "rank 0", nil); err != nil || p.names[0] != "rank 0" {
		t.Errorf("%q meet: %v", p.names, err)
	}
	if err := p.meet(t.Context(), "rank 0 again", nil); !errors.Is(err, errBegun) {
		t.Errorf("a second time: %v", err)
	}
}

// Processes that are to be of groups of different sizes refuse each other, and a signal to one that waits reaches the
// other.
func TestMeetOthers(t *testing.T) {
	store, err := torch.OpenStore(loopback, 0, true, "aperture//", 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	peer := func(rank, size int) *Peers {
		second, err := torch.OpenStore(loopback, store.Port, false, fmt.Sprint(t.Name(), size), 20*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return &Peers{Share: share(rank, size), store: second, names: make([]string, size)}
	}
	ctx, stop := context.WithCancel(t.Context())
	heard := make(chan int, 1)
	waits := make(chan error)
	go func() { waits <- peer(0, 2).meet(ctx, "one", func(rank int) { heard <- rank; stop() }) }()
	if rank := <-heard; rank != 1 {
		t.Errorf("it waits for rank %d", rank)
	}
	const stopped = "one was stopped by a signal before all had come"
	if err := <-waits; err == nil || err.Error() != stopped {
		t.Errorf("it says %v", err)
	}
	if err := peer(1, 2).meet(t.Context(), "two", nil); err == nil || err.Error() != stopped {
		t.Errorf("the other says %v", err)
	}
	a, b := peer(0, 3), peer(1, 3)
	b.Size, b.names = 4, make([]string, 4)
	go func() { waits <- a.meet(t.Context(), "one", nil) }()
	time.Sleep(200 * time.Millisecond)
	const other = "two is to be one of 4 processes, and the first that came one of 3: start all with the same number"
	for _, err := range []error{b.meet(t.Context(), "two", nil), <-waits} {
		if err == nil || err.Error() != other {
			t.Errorf("of other sizes it says %v", err)
		}
	}
}

// Batches that processes share out draw what one process would draw.
func TestDraws(t *testing.T) {
	const draws, batches = 3, 5
	s := torch.NewStream(1, "dropout")
	one := func() { s.Offset += draws }
	d := Draws{Streams: map[string]*torch.Stream{"dropout": s}}
	s.Offset = 7
	d.Rehearse(one)
	if s.Offset != 7 {
		t.Fatalf("a rehearsal has moved the stream to %d", s.Offset)
	}
	d.Begin()
	var at []uint64
	for _, place := range []int{3, 4} {
		d.Batch(place)
		at = append(at, s.Offset)
		one()
	}
	if d.Batch(batches); !slices.Equal(at, []uint64{7 + 3*draws, 7 + 4*draws}) || s.Offset != 7+batches*draws {
		t.Errorf("batches begin at %v, the next update at %d", at, s.Offset)
	}
}
