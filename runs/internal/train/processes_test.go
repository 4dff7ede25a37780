package train

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// ranks are the process ids of the ones that a process has started, by rank.
func ranks(t *testing.T, parent, count int) []int {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		found, n := make([]int, count), 0
		list, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
		for _, path := range list {
			children, _ := os.ReadFile(path)
			for _, child := range strings.Fields(string(children)) {
				environment, _ := os.ReadFile("/proc/" + child + "/environ")
				for _, setting := range strings.Split(string(environment), "\x00") {
					if rank, is := strings.CutPrefix(setting, "RANK="); is {
						r, _ := strconv.Atoi(rank)
						found[r], _ = strconv.Atoi(child)
						n++
					}
				}
			}
		}
		if n == count {
			return found
		}
	}
	t.Fatalf("process %d has not started %d others", parent, count)
	return nil
}

// One of the processes is killed, again and again; what goes on from the checkpoints ends as the undisturbed run.
func TestProcessesKilled(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	settings := []string{"-steps=60", "-processes=2", "-set=train.validate_every=5", "-set=decode.validation_beam=0",
		"-method=spectrum+adversarial"}
	mustRun(t, folder, append(settings, "-out=whole")...)
	settings = append(settings, "-out=killed")
	random := rand.New(rand.NewPCG(17, 1))
	next := settings
	for range 4 {
		c, lines := started(t, folder, next...)
		victims := ranks(t, c.Process.Pid, 2)
		waitFor(t, lines, "update ")
		time.Sleep(time.Duration(random.IntN(150)) * time.Millisecond)
		victim := random.IntN(2)
		killed := syscall.Kill(victims[victim], syscall.SIGKILL)
		begin := time.Now()
		rest, _ := io.ReadAll(lines)
		c.Wait()
		next = append(settings, "-resume")
		if killed != nil { // it was done
			continue
		}
		if code := c.ProcessState.ExitCode(); code != 1 ||
			!strings.Contains(string(rest), fmt.Sprintf("aperture: rank %d ", victim)) {
			t.Errorf("after the death of rank %d the others end with %d:\n%s", victim, code, rest)
		}
		if took := time.Since(begin); took > 60*time.Second {
			t.Errorf("the others go on for %v", took)
		}
		for _, pid := range victims {
			if state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil &&
				!strings.Contains(string(state), ") Z ") {
				t.Errorf("process %d is still there", pid)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "killed", "results.json")); err != nil {
		mustRun(t, folder, next...)
	}
	same(t, folder, "whole", "killed")
}

// Processes that start again by themselves, as pods do, come together again, whichever was killed: one command begins
// the run, goes on with it, and ends well.
func TestProcessesStartAgain(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	settings := []string{"-steps=60", "-set=train.validate_every=5", "-set=decode.validation_beam=0"}
	mustRun(t, folder, append(settings, "-processes=2", "-out=whole")...)
	settings = append(settings, "-resume=auto", "-out=pods", "env:WORLD_SIZE=2", "env:MASTER_ADDR=127.0.0.1",
		fmt.Sprint("env:MASTER_PORT=", freePort(t)))
	var now [2]atomic.Pointer[exec.Cmd] // the process of each pod
	var pods sync.WaitGroup
	for rank := range now {
		pods.Go(func() {
			for range 20 {
				c := process(folder, append(slices.Clone(settings), fmt.Sprint("env:RANK=", rank),
					fmt.Sprint("env:LOCAL_RANK=", rank))...)
				if err := c.Start(); err != nil {
					t.Error(err)
					return
				}
				now[rank].Store(c)
				if c.Wait() == nil {
					return
				}
			}
			t.Errorf("rank %d does not come to its end", rank)
		})
	}
	latest := filepath.Join(folder, "pods", "checkpoints", "LATEST")
	last := ""
	for _, victim := range []int{1, 0, 1} {
		for deadline := time.Now().Add(50 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			if step, _ := os.ReadFile(latest); string(step) != last {
				last = string(step)
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("nothing was saved after %q in less than train.silence", last)
			}
		}
		now[victim].Load().Process.Kill()
	}
	pods.Wait()
	same(t, folder, "whole", "pods")
}

// A signal to one process saves and stops all; another number of processes may go on, and says so.
func TestProcessesStopAndGoOn(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	settings := []string{"-steps=400", "-processes=2", "-set=train.validate_every=200", "-set=decode.validation_beam=0",
		"-out=stopped"}
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		c, lines := started(t, folder, settings...)
		to := ranks(t, c.Process.Pid, 2)[1]
		if s == syscall.SIGHUP { // as a terminal that closes sends it: to who started them
			to = c.Process.Pid
		}
		waitFor(t, lines, "update ")
		if err := syscall.Kill(to, s); err != nil {
			t.Fatal(err)
		}
		rest, _ := io.ReadAll(lines)
		c.Wait()
		if code := c.ProcessState.ExitCode(); code != 128+int(s) ||
			!strings.Contains(string(rest), "continue with -resume") {
			t.Fatalf("after %v the processes end with %d:\n%s", s, code, rest)
		}
		settings = append(settings, "-resume")
	}
	e := mustRun(t, folder, "-out=stopped", "-resume", "-steps=200", "-set=train.validate_every=200")
	if !strings.Contains(e.stderr, "1 processes share the 2 batches of an update, as 2 did before") {
		t.Errorf("it does not say that there are fewer processes:\n%s", e.stderr)
	}
}

// A signal that comes before the processes can listen to it stops all of them, and is no failure of any.
func TestProcessesStopEarly(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	for i, wait := range []time.Duration{0, 50, 100, 200, 400} {
		c, lines := started(t, folder, "-steps=400000", "-processes=2", fmt.Sprint("-out=", i))
		ranks(t, c.Process.Pid, 2)
		time.Sleep(wait * time.Millisecond)
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		said, _ := io.ReadAll(lines)
		c.Wait()
		if code := c.ProcessState.ExitCode(); code != 128+int(syscall.SIGTERM) || strings.Contains(string(said), "rank ") {
			t.Errorf("%d ms after its start it ends with %d:\n%s", wait, code, said)
		}
	}
}

// Processes that a cluster starts find each other by the environment, and name the one that has other settings. A
// process that is stopped ends the others.
func TestProcessesOfACluster(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	settings := []string{"-steps=4", "-set=decode.validation_beam=0", "-out=cluster"}
	for rank, e := range together(t, process(folder, settings...), process(folder, settings...)) {
		if e.code != 0 || rank == 1 && e.stderr != "" {
			t.Errorf("rank %d ends with %d:\n%s", rank, e.code, e.stderr)
		}
	}
	for rank, e := range together(t, process(folder, append(settings, "-out=other")...),
		process(folder, append(settings, "-out=other", "-seed=7")...)) {
		e.fails(t, fmt.Sprint("rank ", rank, " of two with other seeds"), 1, "rank 1 on ", "another version or setting",
			"seed = 7", "seed = 1")
	}
	text := process(folder, append(settings, "-out=text", "-data=changed")...)
	if err := os.CopyFS(filepath.Join(folder, "changed"), os.DirFS(filepath.Join(folder, "corpus"))); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "changed", "valid.de"), strings.ToLower(read(t, folder, "corpus", "valid.de")))
	for rank, e := range together(t, process(folder, append(settings, "-out=text")...), text) {
		e.fails(t, fmt.Sprint("rank ", rank, " of two with other texts"), 1, "rank 1 on ", "another text than rank 0",
			`"valid.de `)
	}
	for rank, e := range together(t, process(folder, append(settings, "-out=mine")...),
		process(folder, append(settings, "-out=yours")...)) {
		e.fails(t, fmt.Sprint("rank ", rank, " of two with other folders"), 1, "rank 1 on ",
			"does not find at yours/env.json what rank 0 wrote at mine/env.json")
	}
	for rank, e := range together(t, process(folder, append(settings, "-out=threads", "-threads=1")...),
		process(folder, append(settings, "-out=threads", "-threads=2")...)) {
		e.fails(t, fmt.Sprint("rank ", rank, " of two with other threads"), 1, "rank 1 on ", `"-threads=2", and not "-threads=1"`)
	}
}

// A process that waits for another says so, and a signal ends it.
func TestProcessWaits(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	settings := []string{"-out=alone", "env:WORLD_SIZE=2", "env:MASTER_ADDR=127.0.0.1",
		fmt.Sprint("env:MASTER_PORT=", freePort(t))}
	first, lines := started(t, folder, append(settings, "env:RANK=0")...)
	waitFor(t, lines, "waiting for rank 1 of 2")
	// Another rank 1 comes to a port at which no store answers.
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	settings[3] = fmt.Sprint("env:MASTER_PORT=", silent.Addr().(*net.TCPAddr).Port)
	second, others := started(t, folder, append(settings, "env:RANK=1")...)
	come, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer come.Close()
	for c, lines := range map[*exec.Cmd]*bufio.Reader{first: lines, second: others} {
		began := time.Now()
		c.Process.Signal(syscall.SIGTERM)
		rest, _ := io.ReadAll(lines)
		c.Wait()
		ended{c.ProcessState.ExitCode(), "", string(rest)}.fails(t, "a process that waits", 143, "stopped by signal 15",
			"the other processes had not come")
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("it ended after %v", took)
		}
	}
}

// A process of another build is named.
func TestProcessOfAnotherVersion(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	other := filepath.Join(t.TempDir(), "wmt14")
	stamp := "-ldflags=-w -X github.com/aperture-ml/aperture/runs/internal/experiment.built=decaf:"
	if out, err := exec.Command("go", "build", stamp, "-o", other, "../../wmt14").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	settings := []string{"-steps=4", "-out=versions"}
	stranger := process(folder, settings...)
	stranger.Path = other
	for rank, e := range together(t, process(folder, settings...), stranger) {
		e.fails(t, fmt.Sprint("rank ", rank, " of two versions"), 1, "rank 1 on ",
			"another version or setting than rank 0", "commit decaf, csrc ")
	}
}

// together runs two processes as a cluster starts them.
func together(t *testing.T, commands ...*exec.Cmd) []ended {
	t.Helper()
	outputs, all := make([]strings.Builder, len(commands)), make([]ended, len(commands))
	port := freePort(t)
	for rank, c := range commands {
		c.Env = append(c.Env, fmt.Sprint("RANK=", rank), fmt.Sprint("WORLD_SIZE=", len(commands)),
			fmt.Sprint("LOCAL_RANK=", rank),
			"MASTER_ADDR=127.0.0.1", fmt.Sprint("MASTER_PORT=", port))
		c.Stderr = &outputs[rank]
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
	}
	for rank, c := range commands {
		c.Wait()
		all[rank] = ended{c.ProcessState.ExitCode(), "", outputs[rank].String()}
	}
	return all
}

// A process that gets no more memory in an update ends all with one sentence, which names it.
func TestProcessOutOfMemory(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	// An update takes 217 MB, most of it for the inner states of 600 tokens. A process keeps what it once had, so that
	// the limit has to come before the first one.
	for try := range 5 {
		c, lines := started(t, folder, "-steps=10", "-processes=2", "-set=train.max_tokens=600",
			"-set=model.ffn_width=16384", "-set=train.validate_every=10", "-set=decode.validation_beam=0",
			fmt.Sprint("-out=full", try))
		pids := ranks(t, c.Process.Pid, 2)
		waitFor(t, lines, "3 updates an epoch")
		limit(t, pids[1], syscall.RLIMIT_AS, virtual(t, pids[1])+32<<20)
		rest, _ := io.ReadAll(lines)
		if c.Wait(); c.ProcessState.Success() {
			continue // rank 1 had begun its update before this process had its turn
		}
		ended{c.ProcessState.ExitCode(), "", string(rest)}.fails(t, "a process without memory", 1, "rank 1 on ",
			"out of memory", "weights", "lower train.max_tokens")
		if strings.Count(string(rest), "aperture: ") != 1 {
			t.Errorf("it says more than one sentence:\n%s", rest)
		}
		return
	}
	t.Fatal("the limit always came after the memory was taken")
}

// limit sets a limit of another process, at present and at most.
func limit(t *testing.T, pid, resource int, to uint64) {
	t.Helper()
	both := syscall.Rlimit{Cur: to, Max: to}
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), uintptr(resource),
		uintptr(unsafe.Pointer(&both)), 0, 0, 0); errno != 0 {
		t.Fatal(errno)
	}
}

// virtual is the size of a process's memory.
func virtual(t *testing.T, pid int) uint64 {
	t.Helper()
	pages := uint64(0)
	if _, err := fmt.Sscan(read(t, fmt.Sprint("/proc/", pid, "/statm")), &pages); err != nil {
		t.Fatal(err)
	}
	return pages * uint64(os.Getpagesize())
}

// A loss that is no number ends all processes with one sentence, which names the process.
func TestProcessesDiverge(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	e := run(t, folder, "-steps=20", "-processes=2", "-set=train.learning_rate=1e30", "-set=schedule.kind=constant",
		"-set=schedule.warmup=0", "-set=train.optimizer=sgd", "-set=train.validate_every=20", "-out=diverged")
	e.fails(t, "a rate of 1e30", 1, "not finite at update", "lower train.learning_rate")
	if strings.Count(e.stderr, "aperture: ") != 1 {
		t.Errorf("it says more than one sentence:\n%s", e.stderr)
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// A process that is stopped gives no signs of life, and the others end.
func TestProcessStopped(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	c, lines := started(t, folder, "-steps=4000", "-processes=2", "-set=train.silence=2",
		"-set=train.validate_every=2000", "-out=hung")
	pids := ranks(t, c.Process.Pid, 2)
	waitFor(t, lines, "update ")
	if err := syscall.Kill(pids[1], syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(lines)
	c.Wait()
	lastLine := string(rest[strings.LastIndex(strings.TrimSpace(string(rest)), "\n")+1:])
	if code := c.ProcessState.ExitCode(); code != 1 || !strings.HasPrefix(lastLine, "aperture: rank 1 on ") ||
		!strings.Contains(lastLine, "no sign of life") {
		t.Errorf("the others end with %d:\n%s", code, rest)
	}
}
