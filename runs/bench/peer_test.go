package main

import (
	"context"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aperture-ml/aperture/torch"
)

func mustMatch(expression string) *regexp.Regexp { return regexp.MustCompile(expression) }

// fake is a bench whose peers are shell scripts; script becomes the program fake.py.
func fake(t *testing.T, ctx context.Context, script string) *bench {
	t.Helper()
	b, err := newBench(ctx, options{Python: "/bin/sh", Threads: 2}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	b.replace(t, "fake.py", script)
	return b
}

const answers = `
read config
case $config in *'"threads":2'*) ;; *) echo "no threads" >&2; exit 2;; esac
echo '{"ready": true, "params": 3, "note": "timing the script"}'
while read what i; do
	case $what in
	step) echo "{\"seconds\": 1.$i, \"peak_delta\": 5, \"hypotheses\": [[7, $i], []], \"loss\": 2.5}" ;;
	memory) echo "{\"seconds\": 9, \"peak_delta\": 200$i}" ;;
	esac
done
`

// replace puts a script in a peer's place.
func (b *bench) replace(t *testing.T, program, script string) {
	t.Helper()
	if err := os.WriteFile(b.path("peer/"+program), []byte(script), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestPeer(t *testing.T) {
	b := fake(t, context.Background(), answers)
	var log strings.Builder
	b.log = &log
	r := &race{}
	defer r.close()
	p, err := b.startPeer(r, "fake", "fake.py", map[string]any{"d": 4})
	if err != nil {
		t.Fatal(err)
	}
	if seconds, err := r.peer.step(3); err != nil || seconds != 1.3 {
		t.Errorf("step 3 takes %v, %v", seconds, err)
	}
	if bytes, err := r.peer.memory(4); err != nil || bytes != 2004 {
		t.Errorf("memory 4 is %v, %v", bytes, err)
	}
	if _, err := p.step(5); err != nil || len(p.last.Hypotheses) != 2 || p.last.Hypotheses[0][1] != 5 ||
		p.last.Loss != 2.5 {
		t.Errorf("the answer is %+v, %v", p.last, err)
	}
	if p.ready.Params != 3 || log.String() != "timing the script\n" {
		t.Errorf("the first answer was %+v, and %q was said", p.ready, log.String())
	}
}

func TestPeerIsToldTheDevice(t *testing.T) {
	b := fake(t, context.Background(), `read c; case $c in *'"device":"cuda:1"'*) echo '{"ready": true}'; read c;; esac`)
	for _, d := range []torch.Device{"cuda:1", torch.CPU} {
		r := &race{device: d}
		_, err := b.startPeer(r, "fake", "fake.py", map[string]any{})
		r.close()
		if told := err == nil; told != (d != torch.CPU) {
			t.Errorf("of %s the peer says %v", d, err)
		}
	}
}

func TestPeersThatFail(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"missing": {`echo "install it with: python3 -m pip install x==1" >&2; exit 3`,
			"the peer fake is not installed: install it with: /bin/sh -m pip install x==1"},
		"traceback": {`printf 'Traceback:\n  line 3\nValueError: no such shape\n' >&2; exit 1`,
			"the peer fake ended before it answered (exit status 1): ValueError: no such shape"},
		"silent":    {`read c; exit 0`, "the peer fake ended before it answered: it said nothing"},
		"killed":    {`kill -9 $$`, "the peer fake ended before it answered (signal: killed): it said nothing"},
		"not ready": {`read c; echo '{}'; read c`, "the peer fake did not say that it is ready"},
		"no JSON": {`read c; echo 'ready!'; read c`,
			`the peer fake answered "ready!", which is not what was asked for`},
	} {
		b := fake(t, context.Background(), c.script)
		r := &race{}
		if _, err := b.startPeer(r, "fake", "fake.py", map[string]any{}); err == nil ||
			!strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want %s", name, err, c.want)
		}
		r.close()
	}
}

func TestNoInterpreter(t *testing.T) {
	b := fake(t, context.Background(), "")
	b.Python = "/no/python"
	_, err := b.startPeer(&race{}, "fake", "fake.py", map[string]any{})
	if err == nil || !strings.Contains(err.Error(), "install Python 3, or name it with -python") {
		t.Errorf("the error is %v", err)
	}
}

// TestPeersEnd checks that closing a race, and cancelling, end a peer and what the peer started.
func TestPeersEnd(t *testing.T) {
	for _, cancelled := range []bool{false, true} {
		ctx, cancel := context.WithCancel(context.Background())
		b := fake(t, ctx, `read c; sleep 60 & echo "{\"ready\": true, \"params\": $!}"; wait`)
		r := &race{}
		p, err := b.startPeer(r, "fake", "fake.py", map[string]any{})
		if err != nil {
			t.Fatal(err)
		}
		child := int(p.ready.Params)
		if cancelled {
			cancel()
			if _, err := p.step(0); err == nil {
				t.Error("a cancelled peer answered")
			}
		}
		r.close()
		cancel()
		for end := time.Now().Add(5 * time.Second); alive(child); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("cancelled %v: what the peer started is still there", cancelled)
			}
		}
	}
}

// alive tells whether a process exists and is no zombie.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
