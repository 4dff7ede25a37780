package parallel

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aperture-ml/aperture/torch"
)

// Where there is a token, only who knows it joins: strangers get no answer from the store while a group works, and what
// they say ends nobody.
func TestStrangersAtTheGate(t *testing.T) {
	address, port := unused(t)
	const token = "the token of this very run"
	stranger, err := newGate("that of another")
	if err != nil {
		t.Fatal(err)
	}
	friend, err := newGate(token)
	if err != nil {
		t.Fatal(err)
	}
	visit := func() {
		err := (&Peers{Share: share(1, 3)}).await(t.Context(), address, nil)
		way := 0
		if err == nil {
			way, err = friend.reach(address)
		}
		if err != nil {
			t.Error(err)
			return
		}
		inside, err := torch.OpenStore(loopback, way, false, "aperture//", 20*time.Second)
		if err != nil {
			t.Error(err)
			return
		}
		defer inside.Close()
		if outside, err := torch.OpenStore(loopback, port, false, "aperture//", time.Second); err == nil {
			t.Error("the store answers strangers")
			outside.Set(failedKey, "a stranger says so")
			outside.Close()
		}
		if _, err := stranger.reach(address); err == nil ||
			!strings.Contains(err.Error(), "does not know this process's APERTURE_GROUP_TOKEN: set it to the same on "+
				"all hosts") {
			t.Errorf("the gate says to another token: %v", err)
		}
		if err := inside.Set("visited", "1"); err != nil {
			t.Error(err)
		}
	}
	said := playAt(t, "visited", visit, fmt.Sprint("MASTER_PORT=", port), tokenVariable+"="+token)
	if said != [3]string{} {
		t.Errorf("the group says %q", said)
	}
}

// Processes on one machine listen on the loopback alone, with their store and with what they sum over.
func TestLaunchedListenOnTheLoopback(t *testing.T) {
	if os.Getenv(launched) != "" {
		torch.Test(t, func() {
			e, err := FromEnvironment()
			if err != nil {
				t.Fatal(err)
			}
			p, err := Join(t.Context(), e, 20*time.Second, nil, func(err error) { t.Error(err) })
			if err != nil {
				t.Fatal(err)
			}
			both := 0
			for _, pid := range []int{os.Getpid(), os.Getppid()} {
				found := listening(t, pid)
				for _, address := range found {
					if !net.ParseIP(address).IsLoopback() {
						t.Errorf("a socket listens at %s", address)
					}
				}
				both += min(len(found), 1)
			}
			if both != 2 {
				t.Error("this test sees no sockets")
			}
			if err := p.Leave(nil, false); err != nil {
				t.Error(err)
			}
		})
		return
	}
	if err := Launch(2, []string{"-test.run=^TestLaunchedListenOnTheLoopback$"}, 10*time.Second); err != nil {
		t.Errorf("the processes end with %v", err.(*Ended).Code())
	}
}

// listening are the addresses at which a process listens.
func listening(t *testing.T, pid int) (addresses []string) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	var sockets []string
	for _, f := range files {
		to, _ := os.Readlink(f)
		sockets = append(sockets, to)
	}
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile("/proc/net/" + table)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line) // sl local_address rem_address st ... inode
			if len(fields) < 10 || fields[3] != "0A" || !slices.Contains(sockets, "socket:["+fields[9]+"]") {
				continue
			}
			address, _, _ := strings.Cut(fields[1], ":")
			ip := make(net.IP, len(address)/2)
			for i := range ip { // words of four bytes, each from its end
				fmt.Sscanf(address[2*(i^3):2*(i^3)+2], "%02X", &ip[i])
			}
			addresses = append(addresses, ip.String())
		}
	}
	return addresses
}

// A warning tells of a store that strangers can reach.
func TestExposed(t *testing.T) {
	far := Environment{Share: share(0, 4), LocalSize: 2, Address: "192.0.2.1", Port: 29500}
	for name, c := range map[string]struct {
		change func(*Environment)
		want   string
	}{
		"several hosts": {func(*Environment) {}, "set APERTURE_GROUP_TOKEN to the same secret on all hosts"},
		"with a token":  {func(e *Environment) { e.Token = "0123456789abcdef" }, ""},
		"torchrun": {func(e *Environment) { e.Served, e.Token = true, "0123456789abcdef" },
			"the launcher's store at 192.0.2.1:29500"},
		"one machine": {func(e *Environment) { e.LocalSize = 4 }, ""},
		"launched":    {func(e *Environment) { e.Served, e.Launched = true, true }, ""},
		"alone":       {func(e *Environment) { *e = Environment{} }, ""},
	} {
		e := far
		c.change(&e)
		if got := e.Exposed(); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}

// What strangers write to a store reaches a terminal as text on one line.
func TestPlain(t *testing.T) {
	store, err := torch.OpenStore(loopback, 0, true, "aperture//", 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := store.Set(failedKey, "\x1b[31mred"); err != nil {
		t.Fatal(err)
	}
	p := &Peers{Share: share(0, 1), names: []string{"rank 0"}, store: store}
	p.watcher.store = store
	if _, err := p.tick("a", "b"); err == nil || err.Error() != "\uFFFD[31mred" {
		t.Errorf("%q", err)
	}
	if err := p.explain(os.ErrClosed); err == nil || err.Error() != "\uFFFD[31mred" {
		t.Errorf("%q", err)
	}
	if err := p.Leave(os.ErrClosed, false); err == nil || err.Error() != "\uFFFD[31mred" {
		t.Errorf("%q", err)
	}
}
