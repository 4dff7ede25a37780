package torch

// #include <stdlib.h>
// #include "api.h"
import "C"

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// A Store is a table of texts that processes meet in: c10d's TCPStore. One process serves it, all are clients. It may
// be used from any goroutine, but a call may have to wait for another one that waits for the server.
type Store struct {
	c    C.ap_store
	Port int // that the server listens on
}

// OpenStore connects to the store at host and port, and serves it there first where server is set (port 0: any free
// one), at the address of host and no other. Keys get a prefix. Calls that the server does not answer give up after the
// timeout. Whoever can connect to the server can read and change everything in the store.
func OpenStore(host string, port int, server bool, prefix string, timeout time.Duration) (*Store, error) {
	if port < 0 || port > math.MaxUint16 {
		return nil, fmt.Errorf("there is no port %d: name one up to %d", port, math.MaxUint16)
	}
	s, listener := &Store{Port: port}, -1
	if server {
		var err error
		if listener, s.Port, err = listen(host, port); err != nil {
			return nil, err
		}
	}
	err := withTexts(func(t []*C.char) C.ap_error {
		return C.ap_store_open(t[0], C.int(s.Port), C.int(listener), t[1], C.int64_t(timeout.Milliseconds()), &s.c)
	}, host, prefix)
	return s, err
}

// listen opens a socket that listens at one address of this machine, and returns its descriptor and its port.
func listen(host string, port int) (descriptor, bound int, err error) {
	var plain net.ListenConfig
	plain.SetMultipathTCP(false) // libuv serves it
	l, err := plain.Listen(context.Background(), "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return -1, 0, err
	}
	defer l.Close()
	socket, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		return -1, 0, err
	}
	var copied uintptr
	var errno syscall.Errno
	err = socket.Control(func(own uintptr) {
		copied, _, errno = syscall.Syscall(syscall.SYS_FCNTL, own, syscall.F_DUPFD_CLOEXEC, 0)
	})
	if err == nil && errno != 0 {
		err = os.NewSyscallError("fcntl", errno)
	}
	return int(copied), l.Addr().(*net.TCPAddr).Port, err
}

// Set sets a key.
func (s *Store) Set(key, value string) error {
	return withTexts(func(t []*C.char) C.ap_error { return C.ap_store_set(s.c, t[0], t[1]) }, key, value)
}

// First sets a key that is not set, and returns what it is then: value, or what another process was first to set.
func (s *Store) First(key, value string) (now string, err error) {
	var out *C.char
	err = withTexts(func(t []*C.char) C.ap_error { return C.ap_store_first(s.c, t[0], t[1], &out) }, key, value)
	return taken(out), err
}

// Get returns a key's value, and the empty text where it is not set.
func (s *Store) Get(key string) (value string, err error) {
	var out *C.char
	err = withTexts(func(t []*C.char) C.ap_error { return C.ap_store_get(s.c, t[0], &out) }, key)
	return taken(out), err
}

// Add adds n to the number of a key, at first 0, and returns the sum.
func (s *Store) Add(key string, n int64) (sum int64, err error) {
	var out C.int64_t
	err = withTexts(func(t []*C.char) C.ap_error { return C.ap_store_add(s.c, t[0], C.int64_t(n), &out) }, key)
	return int64(out), err
}

// Close leaves the store; with its server goes the table.
func (s *Store) Close() {
	C.ap_store_close(s.c)
	s.c = nil
}

// A Group are processes that work on one update: c10d's process group on Gloo, whose sums are the same bits in all of
// them, and in every run with that number of processes. All processes call the same methods in the same order. Tensors
// on a device are copied to the CPU and back, unless UseDevice has found something better.
type Group struct {
	c          C.ap_group
	Rank, Size int
}

// JoinGroup makes one of size processes, which have met in a store, a member, reachable by the others at an address of
// this machine. A collective that another process does not take part in fails after the timeout.
func JoinGroup(s *Store, rank, size int, address string, timeout time.Duration) (*Group, error) {
	g := &Group{Rank: rank, Size: size}
	err := withTexts(func(t []*C.char) C.ap_error {
		return C.ap_group_join(s.c, C.int(rank), C.int(size), t[0], C.int64_t(timeout.Milliseconds()), &g.c)
	}, address)
	return g, err
}

// UseDevice has tensors on a GPU go by NCCL from now on, where build.sh has built it. All processes call it.
func (g *Group) UseDevice(d Device) error {
	if !strings.HasPrefix(string(d), "cuda") {
		return nil
	}
	return g.useNCCL(filepath.Join(folderOf("libaperture.so"), ncclLibrary))
}

// ncclLibrary lies beside libaperture.so where the build had libtorch's side of CUDA and its headers (csrc/cuda).
const ncclLibrary = "libaperture_cuda.so"

// useNCCL opens the library at a path. Where no file has that name, sums go on by the CPU's memory.
func (g *Group) useNCCL(path string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := withTexts(func(t []*C.char) C.ap_error { return C.ap_group_use_nccl(g.c, t[0]) }, path)
	if err != nil {
		return fmt.Errorf("NCCL cannot join the processes' GPUs: %w; train.device = \"cpu\" does without them", err)
	}
	return nil
}

// Sum replaces x on every process by the sum of all of them.
func (g *Group) Sum(x Tensor) error { return outcome(C.ap_group_reduce(g.c, x.c("Group.Sum"), false)) }

// Max replaces x on every process by the largest of each element.
func (g *Group) Max(x Tensor) error { return outcome(C.ap_group_reduce(g.c, x.c("Group.Max"), true)) }

// Broadcast replaces x on every process by that of rank root.
func (g *Group) Broadcast(x Tensor, root int) error {
	return outcome(C.ap_group_broadcast(g.c, x.c("Group.Broadcast"), C.int(root)))
}

// Barrier waits until all processes have come to it.
func (g *Group) Barrier() error { return outcome(C.ap_group_barrier(g.c)) }

// Gather gives every process the bytes of all, in the order of their ranks.
func (g *Group) Gather(data []byte) ([][]byte, error) {
	var all unsafe.Pointer
	sizes := make([]C.int64_t, g.Size)
	if err := outcome(C.ap_group_gather(g.c, unsafe.Pointer(unsafe.SliceData(data)), C.int64_t(len(data)), &all,
		&sizes[0])); err != nil {
		return nil, err
	}
	defer C.free(all)
	parts, at := make([][]byte, g.Size), uintptr(0)
	for r, n := range sizes {
		parts[r] = bytes.Clone(unsafe.Slice((*byte)(unsafe.Add(all, at)), n))
		at += uintptr(n)
	}
	return parts, nil
}

// Leave gives the connections back.
func (g *Group) Leave() {
	C.ap_group_leave(g.c)
	g.c = nil
}

// Buckets sum the gradients of parameters over a group, while the backward pass that makes them still runs.
type Buckets struct{ c C.ap_buckets }

// BucketBytes is the size of a bucket: PyTorch's, large enough that the time of a sum is that of its bytes.
const BucketBytes = 25 << 20

// NewBuckets makes buckets for these parameters, the same ones in the same order on every process.
func (g *Group) NewBuckets(params []Tensor) *Buckets {
	list, first := raw("NewBuckets", params)
	b := &Buckets{}
	check("NewBuckets", C.ap_buckets_new(g.c, first, C.int(len(list)), BucketBytes, &b.c), params...)
	return b
}

// Arm says that the next backward pass is this process's last one of the update.
func (b *Buckets) Arm() { C.ap_buckets_arm(b.c) }

// Finish waits until the gradients are those of all processes. A parameter that no process has a gradient of keeps
// none.
func (b *Buckets) Finish() error { return outcome(C.ap_buckets_finish(b.c)) }

// Report tells of all sums so far: their bytes, the time for which any was under way, and how much of that Finish
// waited; the rest was hidden behind the backward pass.
func (b *Buckets) Report() (bytes int64, busy, waited time.Duration) {
	var n, took, idle C.int64_t
	C.ap_buckets_report(b.c, &n, &took, &idle)
	return int64(n), time.Duration(took), time.Duration(idle)
}

// Free frees the buckets.
func (b *Buckets) Free() { C.ap_buckets_free(b.c) }

// withTexts calls f with C strings and turns its error text into an error.
func withTexts(f func(t []*C.char) C.ap_error, texts ...string) error {
	list := make([]*C.char, len(texts))
	for i, text := range texts {
		list[i] = C.CString(text)
		defer C.free(unsafe.Pointer(list[i]))
	}
	return outcome(f(list))
}

// place is where in its source an error was raised, which tells a user nothing.
var place = regexp.MustCompile(`^\[[^\]]*\] `)

// outcome turns the C side's error text into an error of one line.
func outcome(text C.ap_error) error {
	if text == nil {
		return nil
	}
	message := C.GoString(text)
	C.ap_free_text(text)
	if message[0] == 'm' {
		return &Error{Op: "process group", Message: message[1:], OutOfMemory: true}
	}
	return errors.New(strings.TrimRight(place.ReplaceAllString(firstLine(message[1:]), ""), ". "))
}

// taken copies a text of the C side and frees it.
func taken(text *C.char) string {
	if text == nil {
		return ""
	}
	defer C.ap_free_text(text)
	return C.GoString(text)
}
