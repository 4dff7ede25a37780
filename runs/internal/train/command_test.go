package train

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sampled prepares a run on the built-in sample, with the tiny network.
func sampled(folder string, arguments ...string) *exec.Cmd {
	c := process(folder, arguments...)
	c.Args = slices.DeleteFunc(c.Args, func(a string) bool { return a == "-data=corpus" })
	return c
}

// The fields of results.json and what lies in a run folder are what others read, by name and type.
func TestResultsAndFolder(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	settings := []string{"-set=data.sample_size=120", "-set=data.tokenize=current", "-set=train.ema_decay=0.5",
		"-set=report.plots=true", "-set=report.tensorboard=true", "-steps=8"}
	c := sampled(folder, append(settings, "-set=decode.beam=1", "-set=train.max_tokens=1000",
		"-set=model.max_positions=128")...)
	if e := finish(t, c); e.code != 0 ||
		!strings.Contains(e.stderr, "training on the built-in sample, an artificial corpus") || e.stdout != "" {
		t.Fatalf("%+v", e)
	}
	out := filepath.Join(folder, "experiments", "wmt14", "mle-sample-seed1")

	shape := func(value any) string {
		var walk func(value any) string
		walk = func(value any) string {
			switch v := value.(type) {
			case map[string]any:
				var fields []string
				for name, field := range v {
					fields = append(fields, name+" "+walk(field))
				}
				slices.Sort(fields)
				return "{" + strings.Join(fields, ", ") + "}"
			case []any:
				return fmt.Sprintf("[%d %s]", len(v), walk(v[0]))
			}
			return fmt.Sprintf("%T", value)
		}
		return walk(value)
	}
	var all map[string]any
	if err := json.Unmarshal([]byte(read(t, out, "results.json")), &all); err != nil {
		t.Fatal(err)
	}
	if all["code"].(map[string]any)["commit"] == nil { // built outside a repository
		all["code"] = map[string]any{"commit": "", "dirty": false}
	}
	want := "{best {epoch float64, loss float64, seconds float64, step float64}, checkpoint string, code {commit " +
		"string, dirty bool}, data {name string, sha256 {test.de string, test.en string, train.de string, train.en " +
		"string, valid.de string, valid.en string}, synthetic bool}, epochs float64, isotropy {frobenius float64, i1 " +
		"float64, i1_both_signs float64, i2 float64, i2_both_signs float64, iso_score float64, mean_cosine float64, mean_share float64, sigma_ratio float64}, " +
		"method string, params float64, peak_device_bytes <nil>, peak_rss_bytes float64, preset string, run string, seed float64, " +
		"singular_values [16 float64], test {test {bleu float64, bleu_signature string, bleu_tok float64, " +
		"chrf float64, f1 {0 float64, 1 float64, 10-99 float64, 100-999 float64, 1000+ <nil>, 2 float64, 3 " +
		"float64, 4 float64, 5-9 float64}, nll float64, ppl float64}}, tokens_per_s float64, " +
		"train_seconds float64, updates float64, valid {nll float64, ppl float64}, vectors <nil>}"
	if diff := cmp.Diff(strings.Split(want, ", "), strings.Split(shape(all), ", ")); diff != "" {
		t.Errorf("results.json (-want +got):\n%s", diff)
	}
	for name, value := range map[string]any{"run": "wmt14", "method": "mle", "preset": "sample", "seed": 1.0,
		"updates": 8.0, "checkpoint": "step-8"} {
		if all[name] != value {
			t.Errorf("%s is %v, want %v", name, all[name], value)
		}
	}
	if all["data"].(map[string]any)["synthetic"] != true {
		t.Error("the sample does not call itself synthetic")
	}

	for _, pattern := range []string{
		"config.toml", "env.json", "command.txt", "train.log", "metrics.jsonl", "report.html", "tokenizer/codes.en",
		"tokenizer/vocabulary.de",
		"tb/events.out.tfevents.*", "samples/step-8.txt", "samples/test.de", "plots/*.png", "checkpoints/LATEST",
		"checkpoints/BEST",
		"checkpoints/step-8/model.safetensors", "checkpoints/step-8/average.safetensors",
		"checkpoints/step-8/optimizer.safetensors", "checkpoints/step-8/state.json",
		"checkpoints/step-8/manifest.json",
	} {
		if found, _ := filepath.Glob(filepath.Join(out, pattern)); len(found) == 0 {
			t.Errorf("the run folder lacks %s", pattern)
		}
	}
	if env := read(t, out, "env.json"); !strings.Contains(env, `"isa": "avx`) {
		t.Errorf("env.json does not name the instruction set: %s", env)
	}
	strange := sampled(folder, "-out=strange")
	strange.Env = append(strange.Environ(), "APERTURE_ISA=sse")
	if e := finish(t, strange); e.code != 2 ||
		!strings.Contains(e.stderr, "APERTURE_ISA=sse names no instruction set") {
		t.Errorf("with APERTURE_ISA=sse: %+v", e)
	}
	splits := map[string]int{}
	for line := range strings.Lines(read(t, out, "metrics.jsonl")) {
		var record map[string]any
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		for _, name := range []string{"step", "epoch", "split", "loss", "ppl", "lr", "tokens_per_s", "grad_norm"} {
			if _, found := record[name]; !found {
				t.Errorf("a line of metrics.jsonl lacks %s: %s", name, line)
			}
		}
		splits[record["split"].(string)]++
	}
	if diff := cmp.Diff(map[string]int{"train": 3, "valid": 2, "output": 2}, splits); diff != "" {
		t.Error(diff)
	}

	// The resolved configuration repeats the run, which ends in the same numbers.
	again := exec.Command(binary, "-config", filepath.Join(out, "config.toml"), "-out=again")
	again.Dir = folder
	if e := finish(t, again); e.code != 0 {
		t.Fatalf("%+v", e)
	}
	same(t, folder, "experiments/wmt14/mle-sample-seed1", "again")
}

// A continuation of finish: what a run says of data that it was given.
func TestResultsOfGivenData(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	if err := os.CopyFS(filepath.Join(folder, "corpus2"), os.DirFS(filepath.Join(folder, "corpus"))); err != nil {
		t.Fatal(err)
	}
	for _, language := range []string{"en", "de"} {
		write(t, filepath.Join(folder, "corpus", "other."+language),
			"\neine sehr lange zeile "+strings.Repeat("hund ", 20)+"\nund eine kurze")
	}
	write(t, filepath.Join(folder, "corpus", "long.en"), "kurz\n"+strings.Repeat("lang ", 40)+"\n")
	write(t, filepath.Join(folder, "corpus", "long.de"), "kurz\nlang\n")
	run(t, folder, "-out=out", "-test=long").fails(t, "a line that the model cannot take", 1,
		"long.en:2: this line of the text long has", "more than model.max_positions (64)")
	mustRun(t, folder, "-steps=2", "-out=out", "-seed=7", "-test=test,other", "-method=spectrum")
	all := results(t, folder, "out")
	tests := all["test"].(map[string]any)
	if len(tests) != 2 || tests["other"].(map[string]any)["bleu"] == nil ||
		tests["test"].(map[string]any)["ppl"] == nil {
		t.Errorf("test is %v", tests)
	}
	data := all["data"].(map[string]any)
	if data["synthetic"] != false || len(data["sha256"].(map[string]any)) != 8 || all["seed"] != 7.0 ||
		all["preset"] != "base" || all["method"] != "spectrum" {
		t.Errorf("results: %v", all)
	}
	if lines := strings.Count(read(t, folder, "out", "samples", "other.de"), "\n"); lines != 3 {
		t.Errorf("%d lines of translation", lines)
	}
	// The texts may lie elsewhere when the run goes on.
	if err := os.RemoveAll(filepath.Join(folder, "corpus")); err != nil {
		t.Fatal(err)
	}
	mustRun(t, folder, "-steps=3", "-out=out", "-resume", "-data=corpus2", "-test=test")
}

// The program of all runs is the one that its file is called by, through links that are called otherwise.
func TestNameOfTheRun(t *testing.T) {
	t.Parallel()
	link := filepath.Join(t.TempDir(), "another")
	if err := os.Symlink(textBinary, link); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(link, "-h").CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "ptb trains ") {
		t.Errorf("through a link: %v, %.100s", err, out)
	}
	finish(t, exec.Command(namelessBinary)).fails(t, "a name of no run", 2,
		"training is the name of no run: call this program iwslt14, ")
}

// TestReadmeStart: the first command of README.md begins as shown there.
func TestReadmeStart(t *testing.T) {
	t.Parallel()
	c := exec.Command(binary, "-method=spectrum", "-steps=10", "-threads=1", "-set=report.test=false",
		"-set=decode.max_length_a=0", "-set=decode.max_length_b=3", "-out=start")
	c.Dir = t.TempDir()
	e := finish(t, c)
	shown := regexp.MustCompile(`update 10, epoch 0.10, loss ([\d.]+), ppl ([\d.]+), lr 8.33e-05, grad norm ([\d.]+),`)
	want := shown.FindStringSubmatch(read(t, "../../../README.md"))
	got := shown.FindStringSubmatch(e.stderr)
	if e.code != 0 || want == nil || got == nil {
		t.Fatalf("README.md shows %q, and the command ends with %d:\n%s", want, e.code, e.stderr)
	}
	for i := range want[1:] {
		w, _ := strconv.ParseFloat(want[i+1], 64)
		g, _ := strconv.ParseFloat(got[i+1], 64)
		if !(math.Abs(g-w) < 0.005*w) { // processors differ in the last digits
			t.Errorf("README.md shows %q, and the command says %q", want[0], got[0])
		}
	}
}

// -plan, -h and -method=help print to standard output and make nothing.
func TestWhatOnlyPrints(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	for _, c := range []struct {
		argument string
		parts    []string
	}{
		{"-plan", []string{"parameters ", "weights and state ", "activations ", "training pairs    200",
			"steps an epoch ", "steps in all      24", "folder            experiments/wmt14/mle-base-seed1"}},
		{"-plan -processes=2 -device-flops=1e9 -bandwidth=1e6",
			[]string{"by 2 processes: ", "at 1e+09 a second each (-device-flops)", "sums  ",
				"at 1e+06 bytes a second (-bandwidth)", "time   "}},
		{"-plan -processes=2 -set=train.accumulate=3 -set=train.max_tokens=500", []string{", steps of 3000 tokens"}},
		{"-plan -steps=0 -set=train.patience=3", []string{"steps in all      until validation stalls",
			" target tokens a second, without validation and tests"}},
		{"-h", []string{"Usage: go run ./runs/wmt14", "-method METHOD", "sample", "base", "big",
			"(default with -data)"}},
		{"--help", []string{"Usage: go run ./runs/wmt14"}},
		{"-method=help", []string{"mle", "spectrum-poly", "minimises", "cost"}},
	} {
		e := mustRun(t, folder, strings.Fields(c.argument)...)
		for _, part := range c.parts {
			if !strings.Contains(e.stdout, part) {
				t.Errorf("%s does not print %q:\n%s", c.argument, part, e.stdout)
			}
		}
	}
	run(t, folder, "-bandwidth=1e9").fails(t, "a rate without a plan", 2, "goes with -plan")
	run(t, folder, "-plan", "-set=data.max_length=1").fails(t, "a plan without pairs", 1,
		"none of the 200 sentence pairs")
	if _, err := os.Stat(filepath.Join(folder, "experiments")); err == nil {
		t.Error("a folder was made")
	}
}

// What is printed and does not arrive is an error, and a reader that wants no more is none.
func TestStandardOutputFails(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	mustRun(t, folder, "-out=done", "-steps=2")
	translate := exec.Command(translateBinary, "-run=done", "-threads=1", "-device=cpu")
	translate.Dir, translate.Stdin = folder, strings.NewReader("der alte hund\n")
	for what, c := range map[string]*exec.Cmd{
		"help": process(folder, "-h"), "methods": process(folder, "-method=help"),
		"the configuration": process(folder, "-print-config"),
		"the plan":          process(folder, "-plan", "-device-flops=1e9"), "a translation": translate,
	} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		c.Stdout, c.Stderr = full, &said
		c.Run()
		full.Close()
		ended{code: c.ProcessState.ExitCode(), stderr: said.String()}.fails(t, what, 1,
			"standard output could not be written", "no space left on device")
	}
	for what, c := range map[string]*exec.Cmd{"help": process(folder, "-h"),
		"the plan": process(folder, "-plan", "-device-flops=1e9")} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		var said strings.Builder
		c.Stdout, c.Stderr = w, &said
		c.Run()
		w.Close()
		state := c.ProcessState.Sys().(syscall.WaitStatus)
		if strings.Contains(said.String(), "standard output") || !state.Signaled() &&
			state.ExitStatus() != 128+int(syscall.SIGPIPE) {
			t.Errorf("%s for a reader that wants no more: %v, it says %q", what, c.ProcessState, &said)
		}
	}
}

// All that a run writes, and the text that it keeps for others, is as open to others as the umask says.
func TestUmask(t *testing.T) {
	t.Parallel()
	for umask, allowed := range map[string]fs.FileMode{"077": 0o700, "002": 0o775} {
		folder := workplace(t)
		c := process(folder, "-out=run", "-steps=4", "-set=report.plots=true", "-set=report.tensorboard=true",
			"-set=train.ema_decay=0.5", "-set=data.store="+filepath.Join(folder, "store"))
		c.Args = append([]string{"sh", "-c", `umask "$0"; exec "$@"`, umask}, c.Args...)
		c.Path = "/bin/sh"
		if e := finish(t, c); e.code != 0 {
			t.Fatalf("%+v", e)
		}
		count := 0
		for _, where := range []string{"run", "store"} {
			err := filepath.WalkDir(filepath.Join(folder, where),
				func(path string, entry fs.DirEntry, err error) error {
					if err != nil {
						return err
					}
					info, err := entry.Info()
					want := allowed
					if !entry.IsDir() {
						want &= 0o666
					}
					if count++; err == nil && info.Mode().Perm() != want {
						t.Errorf("umask %s: %s has mode %v, want %v", umask, path, info.Mode().Perm(), want)
					}
					return err
				})
			if err != nil {
				t.Fatal(err)
			}
		}
		if count < 25 {
			t.Errorf("only %d files and folders", count)
		}
	}
}
