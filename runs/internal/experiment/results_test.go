package experiment

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/runs/internal/record"
)

// The fields of results.json are a contract with whoever reads it.
func TestResultsFields(t *testing.T) {
	r := mustStart(t, t.TempDir())
	r.Env.Code = record.Code{}
	if err := r.WriteResults(&record.Results{}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(r.Path(ResultsFile))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"run":"","method":"","preset":"","seed":0,"data":{"name":"","synthetic":false,"sha256":{}},"params":0,"updates":0,"epochs":null,` +
		`"train_seconds":null,"tokens_per_s":null,"peak_rss_bytes":null,"peak_device_bytes":null,"valid":{"nll":null,"ppl":null},"best":{"step":0,"epoch":null,"seconds":null,"loss":null},"test":{},` +
		`"isotropy":{"i1":null,"i2":null,"i1_both_signs":null,"i2_both_signs":null,"frobenius":null,"mean_cosine":null,"sigma_ratio":null,"mean_share":null,"iso_score":null},"singular_values":null,"vectors":null,"checkpoint":null,` +
		`"code":{"commit":null,"dirty":null}}`
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, compact.String()); diff != "" {
		t.Error(diff)
	}
	scores, err := json.Marshal(record.TestScores{PPL: record.Num(math.Inf(1)), BLEU: record.Num(41.5),
		BLEUSignature: "nrefs:1"})
	if want := `{"nll":null,"ppl":null,"bleu":41.5,"bleu_signature":"nrefs:1","bleu_tok":null,"chrf":null,"f1":null}`; err != nil || string(scores) != want {
		t.Errorf("test scores %s, %v", scores, err)
	}
}

func TestResultsRoundTrip(t *testing.T) {
	r := mustStart(t, t.TempDir())
	dirty := true
	r.Env.Code = record.Code{Commit: "abc", Dirty: &dirty}
	want := &record.Results{
		Run: "toy", Method: "mle", Seed: 3, Updates: 7, Epochs: record.Num(1.5), PeakRSSBytes: record.Num(PeakRSS()),
		Valid: record.ValidScores{NLL: record.Num(-2.5), PPL: record.Num(math.NaN())},
		Data:  record.ResultsData{SHA256: map[string]string{"a": "b"}},
		Test: map[string]record.TestScores{"flickr": {BLEU: record.Num(1.25),
			F1: map[string]record.Number{"5-9": record.Num(0.5), "1000+": {}}}},
		Best:           record.Best{Step: 5, Epoch: record.Num(1.25), Seconds: record.Num(2.5), Loss: record.Num(-3.5)},
		Vectors:        &record.Vectors{Source: "x.vec", SHA256: "ab", Width: 3, Words: 9, Unused: 2, End: "the file"},
		SingularValues: record.Nums([]float64{2, math.NaN(), 1}), Checkpoint: "step-7",
	}
	if err := r.WriteResults(want); err != nil {
		t.Fatal(err)
	}
	got, err := record.Read(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(record.Number{})); diff != "" {
		t.Error(diff)
	}
	if got.Code.Commit != "abc" {
		t.Errorf("the commit is %q, not that which the process started with", got.Code.Commit)
	}
	if !math.IsNaN(got.Valid.PPL.Value()) || got.PeakRSSBytes.Value() < 1<<20 {
		t.Errorf("perplexity %v, memory %v", got.Valid.PPL.Value(), got.PeakRSSBytes.Value())
	}
}

func TestCodeVersion(t *testing.T) {
	code := stampedCode([]debug.BuildSetting{{Key: "vcs.revision", Value: "abc"},
		{Key: "vcs.modified", Value: "false"}})
	if code.Commit != "abc" || code.Dirty == nil || *code.Dirty {
		t.Errorf("stamped %+v", code)
	}
	if code, changed := gitCode(t.TempDir()); code.Commit != "" || code.Dirty != nil || changed != nil {
		t.Errorf("outside a repository: %v, %v", code, changed)
	}

	// Files that git does not track are no changes; those that it does are named.
	folder := t.TempDir()
	file := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		args = append([]string{"-C", folder, "-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	file("a.go", "package a")
	git("init", "-q")
	git("add", "a.go")
	git("commit", "-q", "-m", "one")
	file("notes", "not tracked")
	if code, changed := gitCode(folder); len(code.Commit) != 40 || code.Dirty == nil || *code.Dirty ||
		len(changed) > 0 {
		t.Errorf("with an untracked file: %v, %v", code, changed)
	}
	file("a.go", "package b")
	code, changed := gitCode(folder)
	if code.Dirty == nil || !*code.Dirty {
		t.Errorf("with a changed file: %v", code)
	}
	if diff := cmp.Diff([]string{"a.go"}, changed); diff != "" {
		t.Error(diff)
	}
	defer func(before string) { built = before }(built)
	built = "abc:x.go,y.go"
	if code, changed = codeVersion(); code.Commit != "abc" || !*code.Dirty || len(changed) != 2 {
		t.Errorf("as build.sh stamped it: %v, %v", code, changed)
	}
	built = "abc:"
	if code, changed = codeVersion(); code.Commit != "abc" || *code.Dirty || len(changed) != 0 {
		t.Errorf("as build.sh stamped a clean tree: %v, %v", code, changed)
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
	l.Bar(1, 2.5, 1000, "")
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
	if err := l.Close(); err == nil ||
		!strings.Contains(err.Error(), "the disk that holds /dev/full is full: free space") {
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
	l.Bar(5, 2.5, 1000, "3m left")
	l.Progressf("hidden")
	l.StopBar()
	if got := screen.String(); !strings.Contains(got, "step 5  loss 2.500  1000 tokens/s  3m left") ||
		!strings.Contains(got, "/6") || strings.Contains(got, "hidden") {
		t.Errorf("the bar shows %q", got)
	}
	l.Close()

	screen.Reset()
	if file, err = os.Create(filepath.Join(folder, "log3")); err != nil {
		t.Fatal(err)
	}
	l = NewLogger(file, &screen)
	l.terminal = true
	l.Quiet()
	l.StartBar(10, 0)
	l.Bar(5, 2.5, 1000, "")
	l.Printf("one")
	l.Progressf("two")
	l.Warnf("three")
	l.Close()
	if data, err = os.ReadFile(file.Name()); err != nil || screen.String() != "warning: three\n" ||
		strings.Count(string(data), "\n") != 3 {
		t.Errorf("a quiet run shows %q and logs %q, %v", screen.String(), data, err)
	}
}
