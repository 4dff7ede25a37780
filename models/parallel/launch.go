package parallel

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/torch"
)

// Launch starts n processes of this program with these arguments on this machine, and waits for them. Rank 0 has this
// one's standard output and error, the others are silent. Signals to stop go to all of them. Where one ends badly the
// others do too, and none outlives this process. Where the exit code that stands for all is not 0 it returns an *Ended.
func Launch(n int, args []string, grace time.Duration) error {
	// The system ends the processes with the thread that started them.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	store, err := torch.OpenStore(loopback, 0, true, "aperture/0/", grace)
	if err != nil {
		return fmt.Errorf("%d processes cannot meet on this machine: %w", n, err)
	}
	defer store.Close()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // by nohup, which holds for the processes too
		signal.Notify(signals, syscall.SIGHUP)
	}
	defer signal.Stop(signals)
	l := launch{store: store, done: make(chan int, n), last: make([]tail, n)}
	for rank := range n {
		if err := l.start(self, args, rank, n); err != nil {
			l.signal(syscall.SIGKILL)
			return fmt.Errorf("process %d of %d cannot be started: %w", rank, n, err)
		}
	}
	if code, said := l.wait(signals, grace); code != 0 {
		return &Ended{code, said}
	}
	return nil
}

// Ended is how processes ended that Launch started.
type Ended struct {
	code int
	said string
}

// Error is what no process could say itself, or empty.
func (e *Ended) Error() string { return e.said }

// Code is the exit code that stands for all.
func (e *Ended) Code() int { return e.code }

type launch struct {
	store    *torch.Store
	commands []*exec.Cmd
	last     []tail   // what each wrote to its standard error at last
	done     chan int // ranks of ended processes
}

func (l *launch) start(self string, args []string, rank, n int) error {
	c := exec.Command(self, args...)
	c.Env = append(os.Environ(), fmt.Sprint("RANK=", rank), fmt.Sprint("WORLD_SIZE=", n),
		fmt.Sprint("LOCAL_RANK=", rank), fmt.Sprint("LOCAL_WORLD_SIZE=", n),
		"MASTER_ADDR="+loopback, fmt.Sprint("MASTER_PORT=", l.store.Port), "TORCHELASTIC_USE_AGENT_STORE=True",
		"TORCHELASTIC_RESTART_COUNT=0", launched+"=1")
	c.Stderr = &l.last[rank]
	if rank == 0 {
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
	}
	// In a group of their own they get a terminal's signals through this process alone, and so once.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		return err
	}
	l.commands = append(l.commands, c)
	go func() {
		c.Wait() // its state tells more than the error
		l.done <- rank
	}()
	return nil
}

// signal sends a signal to all that have not ended.
func (l *launch) signal(s os.Signal) {
	for _, c := range l.commands {
		c.Process.Signal(s) // an error where it has ended
	}
}

// wait waits until all have ended. Once one has ended badly, the others have a while to do so too. It returns the exit
// code that stands for all, and what is to be said where rank 0 could not.
func (l *launch) wait(signals <-chan os.Signal, grace time.Duration) (code int, said string) {
	codes := make([]int, len(l.commands))
	var late <-chan time.Time
	var asked os.Signal // to stop
	ended := false      // all, since one was ended by that signal
	for left := len(l.commands); left > 0; {
		select {
		case asked = <-signals:
			l.signal(asked)
		case <-late:
			l.signal(syscall.SIGKILL) // also to what is stopped
		case rank := <-l.done:
			left--
			state := l.commands[rank].ProcessState
			codes[rank] = state.ExitCode()
			status, _ := state.Sys().(syscall.WaitStatus)
			if status.Signaled() && (ended || status.Signal() == asked) {
				// It had not begun to train, so that no one has what could be saved, or was asked twice.
				codes[rank] = 128 + int(asked.(syscall.Signal))
				l.signal(syscall.SIGKILL)
				ended = true
				continue
			}
			if state.Success() || late != nil {
				continue
			}
			late = time.After(grace)
			if status.Signaled() {
				said = fmt.Sprintf("rank %d (process %d) was ended by signal %d (%v): -resume goes on from the last "+
					"checkpoint", rank, state.Pid(), int(status.Signal()), status.Signal())
				l.store.First(failedKey, said)
			} else if rank != 0 && codes[rank] <= 128 {
				// It has told the others, where it came to know them.
				now, err := l.store.First(failedKey,
					fmt.Sprintf("rank %d (process %d) ended with exit code %d: %s", rank, state.Pid(), codes[rank],
						l.last[rank].sentence()))
				if err == nil {
					said = files.Shown(now)
				}
			}
		}
	}
	for _, c := range codes {
		if c < 0 {
			c = 1
		}
		if code = cmp.Or(code, c); c != 0 && c < 128 {
			code = c // a failure counts more than a stop by a signal
		}
	}
	if codes[0] > 0 {
		said = "" // rank 0 has said it
	}
	return code, said
}

// tail keeps the end of what is written to it.
type tail struct{ kept bytes.Buffer } // not embedded: that would offer a way past Write

const tailBytes = 1 << 16

func (t *tail) Write(p []byte) (int, error) {
	n, err := t.kept.Write(p)
	if more := t.kept.Len() - tailBytes; more > 0 {
		t.kept.Next(more)
	}
	return n, err
}

// sentence is the last one that a command ends with, or else what a crash begins with.
func (t *tail) sentence() string {
	lines := strings.Split(strings.TrimSpace(t.kept.String()), "\n")
	for _, line := range slices.Backward(lines) {
		if said, found := strings.CutPrefix(line, "aperture: "); found {
			return said
		}
	}
	return lines[0]
}
