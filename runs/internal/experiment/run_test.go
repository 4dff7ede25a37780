package experiment

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/record"
)

// holdFolder is set when the test binary runs as the second process of TestLock: it opens that folder and waits.
const holdFolder = "EXPERIMENT_TEST_HOLD"

func TestMain(m *testing.M) {
	if folder := os.Getenv(holdFolder); folder != "" {
		r, err := Open(&Settings{Config: Default(), Out: folder}, record.Env{})
		if err != nil {
			command.Exit(err)
		}
		fmt.Println("held")
		io.Copy(io.Discard, os.Stdin) // until the test closes it
		command.Exit(r.Close())
	}
	os.Exit(m.Run())
}

// start parses args for a run in folder and opens it.
func start(t *testing.T, folder string, args ...string) (*Run, error) {
	t.Helper()
	s, err := Parse(testSpec(t), append(args, "-out", folder))
	if err != nil {
		return nil, err
	}
	r, err := Open(s, NewEnv(map[string]string{"libtorch": "1"}, "cpu", 1))
	if r != nil {
		t.Cleanup(func() { r.Close() })
	}
	return r, err
}

func mustStart(t *testing.T, folder string, args ...string) *Run {
	t.Helper()
	r, err := start(t, folder, args...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
}

func TestOpenWritesFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a", "b")
	r := mustStart(t, folder, "-set", "data.name=it's mine", "-steps=3")
	r.Log.Progressf("step %d", 1)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	config, err := ReadConfig(folder)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.Config, config, inner); diff != "" {
		t.Error(diff)
	}
	command, err := os.ReadFile(r.Path(CommandFile))
	if err != nil || !strings.Contains(string(command), `-set 'data.name=it'\''s mine' -steps=3 -out `+folder+"\n") {
		t.Errorf("command.txt: %q, %v", command, err)
	}
	log, err := os.ReadFile(r.Path(LogFile))
	if err != nil || !strings.Contains(string(log), "built-in sample") || !strings.HasSuffix(string(log), " step 1\n") {
		t.Errorf("train.log: %q, %v", log, err)
	}
	var env record.Env
	data, err := os.ReadFile(r.Path(EnvFile))
	if err != nil || json.Unmarshal(data, &env) != nil || env.Versions["libtorch"] != "1" || env.Versions["go"] == "" ||
		env.CPU == "" || env.Threads != 1 {
		t.Errorf("env.json: %s, %v", data, err)
	}
}

func TestOpenRefusesUsedFolder(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "notes.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r := mustStart(t, folder, "-seed=1") // a folder with other files is no run
	before, err := os.ReadFile(r.Path(ConfigFile))
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	_, err = start(t, folder, "-seed=2")
	wantError(t, err, folder, "-resume", "-out")
	after, err := os.ReadFile(r.Path(ConfigFile))
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the folder was touched: %v", err)
	}
}

func TestResume(t *testing.T) {
	folder := t.TempDir()
	_, err := start(t, folder, "-resume")
	wantError(t, err, "holds no run to resume", "-out")

	mustStart(t, folder, "-method=spectrum", "-preset=big", "-set=train.beta1=0.5", "-threads=3", "-steps=100").Close()
	r := mustStart(t, folder, "-resume", "-steps=200", "-set=decode.beam=2")
	if c := r.Config; c.Objective.Method != "spectrum" || c.Preset != "big" || c.Train.Beta1 != 0.5 ||
		c.Train.Threads != 3 || c.Train.Steps != 200 || c.Decode.Beam != 2 {
		t.Errorf("the run was forgotten: %+v", c)
	}
	log, err := os.ReadFile(r.Path(LogFile))
	if err != nil || !strings.Contains(string(log), "resuming changes train.steps from 100 to 200") {
		t.Errorf("changes are not told: %q, %v", log, err)
	}
	if command, err := os.ReadFile(r.Path(CommandFile)); err != nil || strings.Count(string(command), "\n") != 2 {
		t.Errorf("command.txt: %q, %v", command, err)
	}
	r.Close()
	if config, err := ReadConfig(folder); err != nil || config.Train.Steps != 200 {
		t.Errorf("config.toml keeps the old length: %d, %v", config.Train.Steps, err)
	}
	// repeating what it is; threads by name
	mustStart(t, folder, "-resume", "-method=spectrum", "-preset=big", "-threads=2").Close()

	for arg, key := range map[string]string{
		"-method=mle":            `objective.method from "spectrum" to "mle"`,
		"-seed=2":                "train.seed from 1 to 2",
		"-preset=sample":         `preset from "big" to "sample"`,
		"-set=model.width=64":    "model.width from 512 to 64",
		"-data=" + t.TempDir():   `data.dir from ""`,
		"-set=train.optimizer=x": "train.optimizer",
	} {
		_, err := start(t, folder, "-resume", arg)
		wantError(t, err, key)
		if command.ExitCode(err) != 2 {
			t.Errorf("%s: exit code %d", arg, command.ExitCode(err))
		}
	}
}

// One command begins a run, goes on with it, and starts it anew where a process ended before it began.
func TestResumeAuto(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "run")
	always := []string{"-method=spectrum", "-steps=100", "-resume=auto"}
	for _, c := range []struct {
		before func() error
		note   string
	}{
		{func() error { return nil }, "holds no run to resume: starting one"},
		{func() error { return nil }, ""},
		{func() error { return os.Remove(filepath.Join(folder, ConfigFile)) }, "ended before it began"},
	} {
		if err := c.before(); err != nil {
			t.Fatal(err)
		}
		s, err := Parse(testSpec(t), append(always, "-out", folder))
		if err != nil {
			t.Fatal(err)
		}
		if said := strings.Join(s.Notes, "\n"); !strings.Contains(said, c.note) || s.Resume() != (c.note == "") {
			t.Errorf("-resume=auto resumes: %v, and says %q, not %q", s.Resume(), said, c.note)
		}
		mustStart(t, folder, always...).Close()
	}
	if err := os.WriteFile(filepath.Join(folder, ConfigFile), []byte("run = ["), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := start(t, folder, always...)
	wantError(t, err, ConfigFile)
	_, err = start(t, folder, "-resume=yes")
	wantError(t, err, "-resume=yes: it wants one of true, false, auto")
}

// A run that goes on needs nothing of the one that it started from. One that ended before it began does.
func TestResumeFrom(t *testing.T) {
	first, folder := filepath.Join(t.TempDir(), "first"), t.TempDir()
	mustStart(t, first).Close()
	mustStart(t, folder, "-init="+first).Close()
	if err := os.RemoveAll(first); err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"-resume", "-resume=auto"} {
		mustStart(t, folder, "-init="+first, how).Close()
	}
	if err := os.Remove(filepath.Join(folder, ConfigFile)); err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"-resume", "-resume=auto"} {
		_, err := start(t, folder, "-init="+first, how)
		wantError(t, err, "there is no folder "+first)
	}
}

func TestResumeFinished(t *testing.T) {
	files := []string{"-steps=50", "-data=" + t.TempDir()}
	for _, test := range []struct {
		start   []string
		updates int64
		epochs  float64
		again   []string
		want    string // part of the error; empty where training goes on
	}{
		{[]string{"-steps=50"}, 50, 2, nil, "train.steps (-steps, now 50)"},
		{[]string{"-steps=50"}, 50, 2, []string{"-steps=40"}, "train.steps (-steps, now 40)"},
		{[]string{"-steps=50"}, 50, 2, []string{"-epochs=9"}, "train.steps (-steps, now 50)"},
		{[]string{"-steps=50"}, 50, 2, []string{"-steps=60"}, ""},
		{files, 50, 2, []string{"-test=test,other"}, ""},
		{files, 50, 2, []string{"-test=other", "-set=report.test=false"}, "train.steps (-steps, now 50)"},
		{append(files, "-test=test,other"), 50, 2, []string{"-test=test"}, "train.steps (-steps, now 50)"},
		{[]string{"-steps=50", "-epochs=2"}, 50, 2, []string{"-steps=60"}, "train.epochs (-epochs, now 2)"},
		{[]string{"-steps=50", "-epochs=2"}, 50, 2, nil,
			"train.steps (-steps, now 50) and train.epochs (-epochs, now 2)"},
		{[]string{"-steps=50", "-epochs=2"}, 25, 2, []string{"-epochs=3"}, ""},
		{[]string{"-steps=50", "-set=train.patience=3"}, 30, 1, []string{"-steps=60"}, "train.patience (now 3)"},
		{[]string{"-steps=50", "-set=train.patience=3"}, 30, 1, []string{"-set=train.patience=5"}, ""},
		{[]string{"-steps=50", "-set=train.patience=3"}, 30, 1, []string{"-set=train.patience=0"}, ""},
	} {
		folder := t.TempDir()
		r := mustStart(t, folder, test.start...)
		if err := r.WriteResults(&record.Results{Updates: test.updates, Epochs: record.Num(test.epochs)}); err != nil {
			t.Fatal(err)
		}
		r.Close()
		_, err := start(t, folder)
		wantError(t, err, "-resume", "-out")
		r, err = start(t, folder, append(test.again, "-resume")...)
		if test.want != "" {
			wantError(t, err, "is finished", test.want)
			spec := testSpec(t)
			_, err := Parse(spec, append(test.again, "-resume=auto", "-out", folder))
			if said := spec.Stdout.(*bytes.Buffer).String(); !errors.Is(err, command.ErrHelp) ||
				!strings.Contains(said, test.want) {
				t.Errorf("-resume=auto of a finished run ends with %v and says %q", err, said)
			}
			spec = testSpec(t)
			Parse(spec, append(test.again, "-resume=auto", "-print-config", "-out", folder))
			if said := spec.Stdout.(*bytes.Buffer).String(); !strings.Contains(said, "[train]") {
				t.Errorf("-print-config says %q", said)
			}
			if _, err := record.Read(folder); err != nil {
				t.Errorf("the results are gone: %v", err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q, then %q: %v", test.start, test.again, err)
			continue
		}
		r.Close()
		mustStart(t, folder, "-resume").Close() // killed in its second part, it is no longer finished
	}
}

// A language model that trained until its averages no longer improved has no key that would let it train on, unless
// its length cut it off.
func TestFinetunedIsFinished(t *testing.T) {
	var before, next Config
	before.Train.ASGD, before.Train.Steps = "finetune", 50
	next = before
	next.Train.Steps = 60
	for updates, want := range map[int64]bool{30: true, 50: false} {
		if raise, ended := toRaise(&before, &next, &record.Results{Updates: updates}); ended != want || raise != nil {
			t.Errorf("%d updates: %q, %v", updates, raise, ended)
		}
	}
	if said := (&finishedError{"run", &record.Results{Updates: 30}, nil}).Error(); !strings.Contains(said, "finetune") {
		t.Error(said)
	}
}

// A second process is refused while the first one lives, and only then.
func TestLock(t *testing.T) {
	folder := t.TempDir()
	holder := exec.Command(os.Args[0])
	holder.Env = append(os.Environ(), holdFolder+"="+folder)
	stdin, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if line != "held\n" {
		t.Fatalf("the first process said %q, %v", line, err)
	}
	for _, previous := range []*Config{nil, {}} {
		_, err := Open(&Settings{Config: Default(), Out: folder, previous: previous}, record.Env{})
		wantError(t, err, folder, "in use by another process")
	}
	second := exec.Command(os.Args[0])
	second.Env = holder.Env
	var stderr bytes.Buffer
	second.Stderr = &stderr
	if second.Run(); second.ProcessState.ExitCode() != 1 ||
		!strings.Contains(stderr.String(), "in use by another process") {
		t.Errorf("the second process ended with %d and said %q", second.ProcessState.ExitCode(), stderr.String())
	}
	stdin.Close()
	if err := holder.Wait(); err != nil {
		t.Fatal(err)
	}
	s := &Settings{Config: Default(), Out: folder, previous: &Config{}}
	r, err := Open(s, record.Env{})
	if err != nil {
		t.Fatalf("after the first process ended: %v", err)
	}
	r.Close()
}

func TestTruncateMetrics(t *testing.T) {
	r := mustStart(t, t.TempDir())
	for _, test := range []struct{ name, have, want string }{
		{"later steps", `{"step":1}|{"step":2}|{"step":2,"split":"valid"}|{"step":3}|`,
			`{"step":1}|{"step":2}|{"step":2,"split":"valid"}|`},
		{"no line cut", `{"step":1}|{"step":2}|`, `{"step":1}|{"step":2}|`},
		{"a line without its end", `{"step":1}|{"step":2}`, `{"step":1}|`},
		{"half a line", `{"step":1}|{"st`, `{"step":1}|`},
		{"half a line and more", `{"step":1}|{"st|{"step":2}|`, `{"step":1}|`},
		{"zero bytes after a power cut", "{\"step\":1}|\x00\x00\x00", `{"step":1}|`},
		{"no step", `{"step":1}|{}|`, `{"step":1}|`},
		{"empty", "", ""},
	} {
		have := strings.ReplaceAll(test.have, "|", "\n")
		if err := os.WriteFile(r.Path(MetricsFile), []byte(have), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := r.TruncateMetrics(2); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(r.Path(MetricsFile))
		if err != nil || strings.ReplaceAll(string(got), "\n", "|") != test.want {
			t.Errorf("%s: %q, %v", test.name, got, err)
		}
	}
	if err := os.Remove(r.Path(MetricsFile)); err != nil {
		t.Fatal(err)
	}
	if err := r.TruncateMetrics(0); err != nil {
		t.Errorf("without a file: %v", err)
	}
}

func TestCheckData(t *testing.T) {
	sums := map[string]string{"train.de": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}
	folder := t.TempDir()
	r := mustStart(t, folder)
	if err := r.CheckData(sums); err != nil {
		t.Fatal(err)
	}
	r.Close()
	r = mustStart(t, folder, "-resume")
	if err := r.CheckData(sums); err != nil {
		t.Errorf("the same text: %v", err)
	}
	sums["train.de"] = "0"
	wantError(t, r.CheckData(sums), "began (train.de)")
}
