package main

import (
	"bufio"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

//go:embed peer/*.py
var peerFiles embed.FS

// unpackPeers writes the peers' programs into a folder.
func unpackPeers(folder string) error {
	programs, err := fs.Sub(peerFiles, "peer")
	if err != nil {
		return err
	}
	return os.CopyFS(filepath.Join(folder, "peer"), programs)
}

// exitMissing is the exit code of a peer that lacks its package; its last line
// says how to install it.
const exitMissing = 3

// process is a peer that runs beside us and answers requests line by line.
type process struct {
	name   string // of the peer, for errors
	python string
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr strings.Builder
}

// start runs a peer's program with its arguments. It ends with the race, with
// b.ctx, or with us: then its input ends.
func (b *bench) start(r *race, name, program string, args ...string) (*process, error) {
	p := &process{name: name, python: b.Python}
	p.cmd = exec.CommandContext(b.ctx, b.Python, append([]string{filepath.Join(b.folder, "peer", program)}, args...)...)
	p.cmd.Stderr = &p.stderr
	// torch.compile keeps what it made without saying for which instruction set, and with another one that fails; what is compiled
	// anew also takes the time that a row tells.
	p.cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "TORCHINDUCTOR_CACHE_DIR="+filepath.Join(b.folder, "torchinductor"))
	// A group of its own, so that what the peer runs ends with it.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Cancel = p.kill
	p.cmd.WaitDelay = time.Second
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out = in, bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("the peer %s cannot be run: %w: install Python 3, or name it with -python", name, err)
	}
	r.onClose(func() {
		p.kill()
		p.cmd.Wait()
	})
	return p, nil
}

func (p *process) kill() error { return syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }

// ask sends a line, unless it is empty, and returns the line that answers it.
func (p *process) ask(line string) (string, error) {
	if line != "" {
		// Where this fails the peer is gone, and reading finds out why.
		io.WriteString(p.in, line+"\n")
	}
	answer, err := p.out.ReadString('\n')
	if err != nil {
		return "", p.died()
	}
	return strings.TrimSuffix(answer, "\n"), nil
}

// died says in one sentence why a peer no longer answers.
func (p *process) died() error {
	p.in.Close()
	err := p.cmd.Wait()
	last := p.lastWords()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == exitMissing:
		return fmt.Errorf("the peer %s is not installed: %s", p.name, strings.ReplaceAll(last, "python3 -m pip", p.python+" -m pip"))
	case err == nil:
		return fmt.Errorf("the peer %s ended before it answered: %s", p.name, last)
	}
	return fmt.Errorf("the peer %s ended before it answered (%w): %s", p.name, err, last)
}

// lastWords is the last line on the peer's standard error: of a traceback, the
// message.
func (p *process) lastWords() string {
	lines := strings.Split(strings.TrimSpace(p.stderr.String()), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return last
	}
	return "it said nothing"
}

// linePeer answers "go" with the seconds of its one piece.
type linePeer struct{ *process }

func (p linePeer) step(int) (float64, error) {
	answer, err := p.ask("go")
	if err != nil {
		return 0, err
	}
	seconds, err := strconv.ParseFloat(answer, 64)
	if err != nil {
		return 0, fmt.Errorf("the peer %s answered %q, which is no number of seconds", p.name, answer)
	}
	return seconds, nil
}

func (p linePeer) memory(int) (float64, error) {
	return 0, fmt.Errorf("the peer %s does not measure memory", p.name)
}

// startLinePeer starts a peer that takes its request as an argument.
func (b *bench) startLinePeer(r *race, name, program string, request map[string]any) (linePeer, error) {
	text, err := json.Marshal(request)
	if err != nil {
		return linePeer{}, err
	}
	p, err := b.start(r, name, program, string(text))
	return linePeer{p}, err
}

// jsonPeer reads a configuration, says when it is ready and answers "step i" and
// "memory i" with objects.
type jsonPeer struct {
	*process
	ready, last answer // the first one, and that of the latest step
}

// answer is what is read of such an object.
type answer struct {
	Ready        bool
	Params       int64 // of a model
	Seconds      float64
	RSSPeakDelta float64            `json:"rss_peak_delta"` // bytes
	Loss         float64            // the mean over targets, in nats
	Gradients    map[string]float64 // norms by the names of weights
	Hypotheses   [][]int32          // of a translator, without ends of sentences

	CompileSeconds float64 `json:"compile_seconds"` // that torch.compile took before anything was timed
}

func (b *bench) startJSONPeer(r *race, name, program string, config map[string]any) (*jsonPeer, error) {
	config["threads"] = b.Threads
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	p, err := b.start(r, name, program)
	if err != nil {
		return nil, err
	}
	peer := &jsonPeer{process: p}
	peer.ready, err = peer.request(string(text))
	if err == nil && !peer.ready.Ready {
		err = fmt.Errorf("the peer %s did not say that it is ready", name)
	}
	return peer, err
}

// compiling says how long torch.compile took, where it was used.
func (p *jsonPeer) compiling() string {
	if p.ready.CompileSeconds == 0 {
		return ""
	}
	return fmt.Sprintf(" (compiled in %.0f s)", p.ready.CompileSeconds)
}

func (p *jsonPeer) request(line string) (answer, error) {
	var a answer
	text, err := p.ask(line)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return a, fmt.Errorf("the peer %s answered %.80q, which is not what was asked for: %w", p.name, text, err)
	}
	return a, nil
}

func (p *jsonPeer) step(i int) (seconds float64, err error) {
	p.last, err = p.request(fmt.Sprintf("step %d", i))
	return p.last.Seconds, err
}

func (p *jsonPeer) memory(i int) (float64, error) {
	a, err := p.request(fmt.Sprintf("memory %d", i))
	return a.RSSPeakDelta, err
}
