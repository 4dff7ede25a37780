package experiment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The fields of results.json are a contract with whoever reads it.
func TestResultsFields(t *testing.T) {
	r := mustStart(t, t.TempDir())
	r.env.Code = Code{}
	if err := r.WriteResults(&Results{}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(r.Path(ResultsFile))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"run":"","method":"","preset":"","seed":0,"data":{"name":"","synthetic":false,"sha256":{}},"params":0,"updates":0,"epochs":null,` +
		`"train_seconds":null,"tokens_per_s":null,"peak_rss_bytes":null,"peak_device_bytes":null,"valid":{"nll":null,"ppl":null},"test":{},` +
		`"isotropy":{"i1":null,"i2":null,"frobenius":null,"mean_cosine":null,"sigma_ratio":null},"singular_values":null,"vectors":null,"checkpoint":null,` +
		`"code":{"commit":null,"dirty":null}}`
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, compact.String()); diff != "" {
		t.Error(diff)
	}
	scores, err := json.Marshal(TestScores{PPL: Num(math.Inf(1)), BLEU: Num(41.5), BLEUSignature: "nrefs:1"})
	if want := `{"nll":null,"ppl":null,"bleu":41.5,"bleu_signature":"nrefs:1","bleu_tok":null,"chrf":null}`; err != nil || string(scores) != want {
		t.Errorf("test scores %s, %v", scores, err)
	}
}

func TestResultsRoundTrip(t *testing.T) {
	r := mustStart(t, t.TempDir())
	dirty := true
	r.env.Code = Code{Commit: "abc", Dirty: &dirty}
	want := &Results{
		Run: "toy", Method: "mle", Seed: 3, Updates: 7, Epochs: Num(1.5), PeakRSSBytes: Num(PeakRSS()), Valid: ValidScores{NLL: Num(-2.5), PPL: Num(math.NaN())},
		Data: ResultsData{SHA256: map[string]string{"a": "b"}}, Test: map[string]TestScores{"flickr": {BLEU: Num(1.25)}},
		Vectors:        &Vectors{Source: "x.vec", SHA256: "ab", Width: 3, Words: 9, Unused: 2, End: "the file"},
		SingularValues: Nums([]float64{2, math.NaN(), 1}), Checkpoint: "step-7",
	}
	if err := r.WriteResults(want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadResults(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Number{})); diff != "" {
		t.Error(diff)
	}
	if got.Code.Commit != "abc" {
		t.Errorf("the commit is %q, not that which the process started with", got.Code.Commit)
	}
	if !math.IsNaN(got.Valid.PPL.Value()) || got.PeakRSSBytes.Value() < 1<<20 {
		t.Errorf("perplexity %v, memory %v", got.Valid.PPL.Value(), got.PeakRSSBytes.Value())
	}
}

func TestExit(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "/x/step-3.tmp", Err: syscall.ENOSPC}
	for _, test := range []struct {
		err     error
		code    int
		message string
	}{
		{nil, 0, ""},
		{ErrHelp, 0, ""},
		{errors.New("two\nlines"), 1, "aperture: two lines"},
		{fmt.Errorf("a: %w", usagef("bad flag")), 2, "aperture: a: bad flag"},
		{&SignalError{syscall.SIGTERM}, 143, "aperture: stopped by signal 15 (terminated): run again with -resume to continue"},
		{&SignalError{syscall.SIGINT}, 130, ""},
		{full, 1, "aperture: the disk that holds /x/step-3.tmp is full: free space and run again with -resume"},
		{DiskFull(fmt.Errorf("saving: %w", full)), 1, "aperture: the disk that holds /x/step-3.tmp is full: free space and run again with -resume"},
		{&fs.PathError{Op: "write", Path: "/x", Err: syscall.EIO}, 1, "aperture: write /x: input/output error"},
	} {
		if code := ExitCode(test.err); code != test.code {
			t.Errorf("%v: exit code %d, want %d", test.err, code, test.code)
		}
		if test.message != "" && Message(test.err) != test.message {
			t.Errorf("%v: says %q, want %q", test.err, Message(test.err), test.message)
		}
	}
	if !errors.Is(DiskFull(full), syscall.ENOSPC) {
		t.Error("a full disk is no longer known as one")
	}
}

func TestInterruptible(t *testing.T) {
	ctx, stop := Interruptible(context.Background())
	defer stop()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	var stopped *SignalError
	if !errors.As(context.Cause(ctx), &stopped) || stopped.Signal != syscall.SIGTERM {
		t.Errorf("the cause is %v", context.Cause(ctx))
	}
}

func TestWriteFile(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "f")
	for _, text := range []string{"one", "two"} {
		if err := WriteFile(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("read %q, %v", got, err)
		}
	}
	if err := WriteFile(filepath.Join(folder, "none", "f"), nil); err == nil {
		t.Error("a missing folder was written to")
	}
	if err := os.Mkdir(filepath.Join(folder, "taken"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(filepath.Join(folder, "taken"), nil); err == nil {
		t.Error("a folder was replaced by a file")
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 2 {
		t.Errorf("files were left behind: %v, %v", entries, err)
	}
}

func TestCodeVersion(t *testing.T) {
	code := stampedCode([]debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "false"}})
	if code.Commit != "abc" || code.Dirty == nil || *code.Dirty {
		t.Errorf("stamped %+v", code)
	}
	if code := gitCode(t.TempDir()); code.Commit != "" || code.Dirty != nil {
		t.Errorf("outside a repository: %+v", code)
	}
	if code := gitCode("."); code.Commit != "" && (len(code.Commit) != 40 || code.Dirty == nil) {
		t.Errorf("git says %+v", code)
	}
}

func TestLogger(t *testing.T) {
	folder := t.TempDir()
	file, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		t.Fatal(err)
	}
	var screen bytes.Buffer
	l := NewLogger(file, &screen)
	l.StartBar(10, 0)
	l.Bar(1, 2.5, 1000)
	l.Printf("one %d", 1)
	l.Warnf("two")
	l.Progressf("three\n")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if screen.String() != "one 1\nwarning: two\nthree\n" {
		t.Errorf("screen, which is no terminal: %q", screen.String())
	}
	data, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for line := range strings.Lines(string(data)) {
		texts = append(texts, line[len("2006-01-02 15:04:05 "):])
	}
	if diff := cmp.Diff([]string{"one 1\n", "warning: two\n", "three\n"}, texts); diff != "" {
		t.Error(diff)
	}
	l.Printf("after the end")
	if l.Err() == nil {
		t.Error("a line that was lost goes unnoticed")
	}

	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	l = NewLogger(full, &screen)
	l.Printf("lost")
	if err := l.Close(); err == nil || !strings.Contains(err.Error(), "the disk that holds /dev/full is full: free space") {
		t.Errorf("a full disk gave %v", err)
	}

	screen.Reset()
	file, err = os.Create(filepath.Join(folder, "log2"))
	if err != nil {
		t.Fatal(err)
	}
	l = NewLogger(file, &screen)
	l.terminal = true
	l.StartBar(10, 4)
	l.Bar(5, 2.5, 1000)
	l.Progressf("hidden")
	l.StopBar()
	if got := screen.String(); !strings.Contains(got, "step 5  loss 2.500  1000 tokens/s") || !strings.Contains(got, "/6") || strings.Contains(got, "hidden") {
		t.Errorf("the bar shows %q", got)
	}
	l.Close()
}
