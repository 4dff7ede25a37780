package torch

import (
	"bytes"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// memberOf tells a process of this test where to meet: "port size rank".
const memberOf = "APERTURE_TEST_MEMBER"

// The test starts itself, once for each process.
func TestProcessGroups(t *testing.T) {
	if place := os.Getenv(memberOf); place != "" {
		var port, size, rank int
		if _, err := fmt.Sscan(place, &port, &size, &rank); err != nil {
			t.Fatal(err)
		}
		store, err := OpenStore("127.0.0.1", port, false, "test/", 20*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		Test(t, func() { member(t, store, rank, size) })
		return
	}
	store, err := OpenStore("127.0.0.1", 0, true, "test/", 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, size := range []int{2, 4} {
		var commands []*exec.Cmd
		var outputs []*bytes.Buffer
		for rank := range size {
			c, output := exec.Command(os.Args[0], "-test.run=^TestProcessGroups$"), &bytes.Buffer{}
			c.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %d", memberOf, store.Port, size, rank),
				"OMP_NUM_THREADS=1")
			c.Stdout, c.Stderr = output, output
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			commands, outputs = append(commands, c), append(outputs, output)
		}
		for rank, c := range commands {
			if err := c.Wait(); err != nil {
				t.Errorf("rank %d of %d: %v\n%s", rank, size, err, outputs[rank])
			}
		}
	}
}

// member is what each process does.
func member(t *testing.T, store *Store, rank, size int) {
	prefix := strconv.Itoa(size)
	first, err := store.First(prefix+"first", strconv.Itoa(rank))
	again, _ := store.First(prefix+"first", "other")
	got, _ := store.Get(prefix + "first")
	if err != nil || first == "" || again != first || got != first {
		t.Errorf("the first to set a key: %q, then %q and %q (%v)", first, again, got, err)
	}
	if missing, err := store.Get("missing"); missing != "" || err != nil {
		t.Errorf("a key that is not set is %q (%v)", missing, err)
	}
	// The members of the second group meet in the store of the first: the size keeps them apart.
	rendezvous, err := OpenStore("127.0.0.1", store.Port, false, "group/"+prefix+"/", 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer rendezvous.Close()
	g, err := JoinGroup(rendezvous, rank, size, "127.0.0.1", 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Leave()
	x := FromFloat32s([]float32{float32(rank), 1, -float32(rank)}, CPU, 3)
	m := x.Clone()
	if err := g.Sum(x); err != nil {
		t.Fatal(err)
	}
	if err := g.Max(m); err != nil {
		t.Fatal(err)
	}
	n := float32(size)
	expect(t, "sum", x, n*(n-1)/2, n, -n*(n-1)/2)
	expect(t, "maximum", m, n-1, 1, 0)
	b := FromFloat32s([]float32{float32(rank), 7}, CPU, 2)
	if err := g.Broadcast(b, 1); err != nil {
		t.Fatal(err)
	}
	expect(t, "broadcast", b, 1, 7)
	parts, err := g.Gather([]byte(strings.Repeat("x", rank)))
	if err != nil {
		t.Fatal(err)
	}
	for r, part := range parts {
		if string(part) != strings.Repeat("x", r) {
			t.Errorf("rank %d gave %q", r, part)
		}
	}
	if err := g.Barrier(); err != nil {
		t.Fatal(err)
	}
	sums(t, g)
}

// sums proves that buckets sum gradients, that a parameter with none anywhere keeps none, and that one with a gradient
// on some processes has their sum on all.
func sums(t *testing.T, g *Group) {
	var params []Tensor
	for i, n := range []int64{3, 47, 1, 31} {
		params = append(params, Parameter(Full(float64(i+1), Float32, CPU, n, 4)))
	}
	defer Free(params...)
	buckets := g.NewBuckets(params)
	defer buckets.Free()
	for round := range 3 {
		scope := OpenScope()
		loss := params[0].Sum().MulScalar(float64(g.Rank + 1)).Add(params[1].Square().Sum())
		if g.Rank == 1 {
			loss = loss.Add(params[3].Sum().MulScalar(5))
		}
		loss.MulScalar(0.5).Backward() // a batch before the last
		if round != 1 || g.Rank != 0 { // in one round a process has no second batch
			buckets.Arm()
			again := params[0].Sum().Add(params[1].Sum())
			again.Backward()
		}
		if err := buckets.Finish(); err != nil {
			t.Fatal(err)
		}
		n := float64(g.Size)
		seconds := n
		if round == 1 {
			seconds--
		}
		for i, want := range []float64{n*(n+1)/4 + seconds, n*2 + seconds, math.NaN(), 2.5} {
			grad := params[i].Grad()
			if math.IsNaN(want) {
				if grad.Defined() {
					t.Errorf("round %d: parameter %d has a gradient from nowhere", round, i)
				}
				continue
			}
			for _, x := range grad.Float32s() {
				if math.Abs(float64(x)-want) > 1e-5 {
					t.Fatalf("round %d: the gradient of parameter %d is %g, want %g", round, i, x, want)
				}
			}
		}
		ZeroGrad(params)
		scope.Close()
	}
	if bytes, busy, waited := buckets.Report(); bytes != 3*4*(82*4+4) || busy <= 0 || waited < 0 {
		t.Errorf("%d bytes were summed in %v, of which %v were waited for", bytes, busy, waited)
	}
}

func expect(t *testing.T, what string, x Tensor, want ...float32) {
	t.Helper()
	for i, got := range x.Float32s() {
		if got != want[i] {
			t.Errorf("%s: element %d is %g, want %g", what, i, got, want[i])
		}
	}
}

// A store that is not there, and a process that does not come, are errors of one line.
func TestProcessGroupFailures(t *testing.T) {
	store, err := OpenStore("127.0.0.1", 0, true, "test/", 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for name, try := range map[string]func() error{
		"no store": func() error { _, err := OpenStore("127.0.0.1", 1, false, "", time.Second); return err },
		"alone":    func() error { _, err := JoinGroup(store, 0, 2, "127.0.0.1", time.Second); return err },
	} {
		if err := try(); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, port := range []int{70000, -1} {
		if _, err := OpenStore("127.0.0.1", port, false, "", 20*time.Second); err == nil ||
			!strings.Contains(err.Error(), fmt.Sprintf("there is no port %d", port)) {
			t.Errorf("a store at port %d: %v", port, err)
		}
	}
}

// A store is served at one address: a stranger who comes by another one of the same machine finds nobody.
func TestStoreListensAtOneAddress(t *testing.T) {
	store, err := OpenStore("127.0.0.1", 0, true, "test/", 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, host := range append(outside(t), "127.0.0.2", "::1") {
		if c, err := net.DialTimeout("tcp", net.JoinHostPort(host, strconv.Itoa(store.Port)), 5*time.Second); err == nil {
			c.Close()
			t.Errorf("the store of 127.0.0.1 answers at %s", host)
		}
	}
	if client, err := OpenStore("127.0.0.1", store.Port, false, "test/", 20*time.Second); err != nil {
		t.Error(err)
	} else {
		client.Close()
	}
	if _, err := OpenStore("127.0.0.1", store.Port, true, "test/", time.Second); err == nil ||
		!strings.Contains(err.Error(), "address already in use") {
		t.Errorf("a second store at one port: %v", err)
	}
}

// outside are the addresses of this machine that other machines see, none where it has no network.
func outside(t *testing.T) (hosts []string) {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if ip := a.(*net.IPNet).IP; ip.IsGlobalUnicast() {
			hosts = append(hosts, ip.String())
		}
	}
	return hosts
}
