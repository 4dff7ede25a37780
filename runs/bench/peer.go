package main

import (
	"bufio"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// peerFiles are the peers' programs.
//
//go:embed peer/*.py
var peerFiles embed.FS

// exitMissing is the exit code of a peer that lacks its package; its last line says how to install it.
const exitMissing = 3

// peer is a program that runs beside us. It reads a configuration, says when it is ready, and answers "step i" and
// "memory i" with objects, line by line.
type peer struct {
	name        string // for errors
	python      string
	cmd         *exec.Cmd
	in          io.WriteCloser
	out         *bufio.Reader
	stderr      strings.Builder
	ready, last answer // the first one, and that of the latest step
}

// answer is what is read of such an object.
type answer struct {
	Ready          bool
	Note           string // on what it times, for the log
	Params         int64  // of a model
	Seconds        float64
	PeakDelta      float64            `json:"peak_delta"` // bytes
	Loss           float64            // the mean over targets, in nats
	Gradients      map[string]float64 // norms by the names of weights
	Hypotheses     [][]int32          // of a translator, without ends of sentences
	Waits          []float64          // seconds for each sentence of a translator that was given them one by one
	IDs            []int32            // of a continuation
	CompileSeconds float64            `json:"compile_seconds"` // that torch.compile took before anything was timed
}

// startPeer runs a peer's program as the race's other side and waits until it is ready. The peer ends with the race,
// with b.ctx, or with us: then its input ends.
func (b *bench) startPeer(r *race, name, program string, config map[string]any) (*peer, error) {
	config["threads"] = b.Threads
	if !r.onHost() {
		config["device"] = r.device
	}
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	p := &peer{name: name, python: b.Python, cmd: exec.CommandContext(b.ctx, b.Python, b.path("peer/"+program))}
	p.cmd.Stderr = &p.stderr
	// torch.compile keeps what it made without saying for which instruction set, and with another one that fails; what
	// is compiled anew also takes the time that a row shows.
	p.cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "TORCHINDUCTOR_CACHE_DIR="+b.path("torchinductor"))
	// A group of its own, so that what the peer runs ends with it.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Cancel = p.kill
	p.cmd.WaitDelay = time.Second
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("the peer %s cannot be run: %w: install Python 3, or name it with -python", name, err)
	}
	r.onClose(func() {
		p.kill()
		p.cmd.Wait()
	})
	r.peer = side{p.step, p.memory}
	if p.ready, err = p.request(string(text)); err == nil && !p.ready.Ready {
		err = fmt.Errorf("the peer %s did not say that it is ready", name)
	}
	if p.ready.Note != "" {
		fmt.Fprintf(b.log, "%s\n", p.ready.Note)
	}
	return p, err
}

func (p *peer) kill() error { return syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }

// request sends a line and reads the answer.
func (p *peer) request(line string) (a answer, err error) {
	io.WriteString(p.in, line+"\n") // where this fails the peer is gone, and reading finds out why
	text, err := p.out.ReadString('\n')
	if err != nil {
		return a, p.died()
	}
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return a, fmt.Errorf("the peer %s answered %.80q, which is not what was asked for: %w",
			p.name, strings.TrimSuffix(text, "\n"), err)
	}
	return a, nil
}

func (p *peer) step(i int) (seconds float64, err error) {
	p.last, err = p.request(fmt.Sprintf("step %d", i))
	return p.last.Seconds, err
}

func (p *peer) memory(i int) (bytes float64, err error) {
	a, err := p.request(fmt.Sprintf("memory %d", i))
	return a.PeakDelta, err
}

// died says in one sentence why a peer no longer answers.
func (p *peer) died() error {
	p.in.Close()
	err := p.cmd.Wait()
	// The last line on standard error is the message of a traceback.
	lines := strings.Split(strings.TrimSpace(p.stderr.String()), "\n")
	last := cmp.Or(lines[len(lines)-1], "it said nothing")
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == exitMissing:
		command := strings.ReplaceAll(last, "python3 -m pip", p.python+" -m pip")
		return fmt.Errorf("the peer %s is not installed: %s", p.name, command)
	case err == nil:
		return fmt.Errorf("the peer %s ended before it answered: %s", p.name, last)
	}
	return fmt.Errorf("the peer %s ended before it answered (%w): %s", p.name, err, last)
}

// compiling says how long torch.compile took, where it was used.
func (p *peer) compiling() string {
	if p.ready.CompileSeconds == 0 {
		return ""
	}
	return fmt.Sprintf(" (compiled in %.0f s)", p.ready.CompileSeconds)
}
