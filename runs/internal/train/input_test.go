package train

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// Bad input gives one sentence that names the file, the line or the key, and what to do; the exit code tells usage from
// failure. None of it leaves a folder that would refuse the next attempt.
func TestBadInput(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	corpus := func(name string, change func(string) string) string {
		copied := filepath.Join(folder, name)
		if err := os.CopyFS(copied, os.DirFS(filepath.Join(folder, "corpus"))); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(copied, "train.de"), change(read(t, copied, "train.de")))
		return "-data=" + name
	}
	write(t, filepath.Join(folder, "bad.toml"), "[train]\nsteps = 3\nlerning_rate = 1\n")
	write(t, filepath.Join(folder, "broken.toml"), "[train]\nsteps = \n")
	write(t, filepath.Join(folder, "codes"), "no codes\nat all here\n")
	for _, c := range []struct {
		arguments []string
		code      int
		parts     []string
	}{
		{[]string{"-data=nowhere"}, 1, []string{"-data", "there is no folder nowhere"}},
		{[]string{"-train=trian"}, 1, []string{filepath.Join("corpus", "trian.en"), "no such file", "-train"}},
		{[]string{"-test=test,test2"}, 1, []string{filepath.Join("corpus", "test2.en"), "no such file", "-test"}},
		{[]string{"-src=fr"}, 1, []string{filepath.Join("corpus", "train.fr"), "no such file"}},
		{[]string{corpus("ragged", func(s string) string { return s + "noch eine\n" })}, 1,
			[]string{"train.en has 200 lines", "train.de has 201", "line N"}},
		{[]string{corpus("latin", func(s string) string { return "gut\nT\xfcr\n" + strings.SplitN(s, "\n", 3)[2] })}, 1,
			[]string{"train.de:2: byte 2 (0xfc)", "not valid UTF-8", "iconv"}},
		{[]string{corpus("empty", func(string) string { return "" })}, 1,
			[]string{"train.de: the file is empty", "-train"}},
		{[]string{corpus("blank", func(s string) string { return strings.Repeat("\n", 200) })}, 1,
			[]string{"none of the 200 sentence pairs", "200 empty"}},
		{[]string{"-set=data.max_length=1"}, 1, []string{"none of the 200 sentence pairs", "data.max_length"}},
		{[]string{"-set=train.max_tokens=3"}, 1, []string{"of the training text takes", "raise train.max_tokens (3)"}},
		{[]string{"-set=data.codes=codes"}, 1, []string{"codes:2: a merge is two symbols"}},
		{[]string{"-set=data.codes=nocodes"}, 1, []string{"data.codes", "there is no file nocodes"}},
		{[]string{"-init=corpus"}, 1, []string{"corpus", "holds no run"}},
		{[]string{"-method=magic"}, 2, []string{`"magic"`, "mle"}},
		{[]string{"-method=mle+magic"}, 2, []string{"magic"}},
		{[]string{"-method=spectrum+spectrum-poly"}, 2, []string{"spectrum"}},
		{[]string{"-set=train.lerning_rate=1"}, 2, []string{"train.lerning_rate", "did you mean train.learning_rate?"}},
		{[]string{"-set=model.dropout=1.5"}, 2,
			[]string{"model.dropout = 1.5 is out of range", "at least 0 and below 1"}},
		{[]string{"-set=model.heads=3"}, 2, []string{"model.heads = 3 does not divide model.width = 16"}},
		{[]string{"-config=bad.toml"}, 2, []string{"bad.toml", "train.lerning_rate",
			"did you mean train.learning_rate?"}},
		{[]string{"-config=broken.toml"}, 2, []string{"broken.toml: line 2"}},
		{[]string{"-config=none.toml"}, 1, []string{"none.toml", "-config"}},
		{[]string{"-stps=3"}, 2, []string{"-stps", "did you mean -steps?"}},
		{[]string{"-preset=huge"}, 2, []string{`"huge"`, "base"}},
		{[]string{"-device=tpu"}, 2, []string{`"tpu" is no device`}},
	} {
		what := strings.Join(c.arguments, " ")
		run(t, folder, append(c.arguments, "-out=out")...).fails(t, what, c.code, c.parts...)
		if _, err := os.Stat(filepath.Join(folder, "out", "config.toml")); err == nil {
			t.Errorf("%s: the folder is taken", what)
			os.RemoveAll(filepath.Join(folder, "out"))
		}
	}
	mustRun(t, folder, "-steps=1", "-out=out")
}

// However the files of a corpus are laid out, a run is the same bit for bit, and goes on from any of them; lines that
// are held out take the place of texts that are missing.
func TestLayoutsOfACorpus(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	for _, name := range []string{"train", "valid", "test"} {
		en, de := read(t, folder, "corpus", name+".en"), read(t, folder, "corpus", name+".de")
		write(t, filepath.Join(folder, "packed", name+".en.gz"), fixtures.Gzip(t, en))
		write(t, filepath.Join(folder, "packed", name+".de.zst"), fixtures.Zstandard(t, de))
		var table strings.Builder
		target := strings.Split(de, "\n")
		for i, line := range strings.Split(strings.TrimSuffix(en, "\n"), "\n") {
			table.WriteString(line + "\t" + target[i] + "\r\n")
		}
		write(t, filepath.Join(folder, "table", name+".tsv"), "\ufeff"+table.String())
		write(t, filepath.Join(folder, "bad", name+".tsv"), table.String()+"one column\n")
		if name == "train" {
			write(t, filepath.Join(folder, "alone", name+".tsv"), table.String())
		}
	}
	train(t, folder, "-steps=8", "-out=plain")
	train(t, folder, "-steps=8", "-out=packed", "-data=packed")
	same(t, folder, "plain", "packed")
	train(t, folder, "-steps=8", "-out=again", "-data=table")
	same(t, folder, "plain", "again")
	train(t, folder, "-steps=12", "-out=plain", "-resume")
	train(t, folder, "-steps=12", "-out=packed", "-data=table", "-resume")
	same(t, folder, "plain", "packed")
	run(t, folder, "-out=bad", "-data=bad").fails(t, "a ragged table", 1,
		"train.tsv:201: this line has 1 columns; wanted are two")
	run(t, folder, "-out=bad", "-data=alone").fails(t, "no validation text", 1,
		"valid.en: there is no such file; -valid names it")
	e := mustRun(t, folder, "-steps=4", "-out=alone", "-data=alone", "-set=data.held_out=1000")
	if !strings.Contains(e.stderr, "one in 20 of the 200 pairs of train, spread evenly, is held out as validation "+
		"text, and another as test text (data.held_out)") ||
		!strings.Contains(e.stderr, "kept 180 of 180 sentence pairs") {
		t.Errorf("it says\n%s", e.stderr)
	}
	run(t, folder, "-steps=8", "-out=alone", "-data=alone", "-resume", "-test=train").fails(t, "another test text", 2,
		`a resumed run cannot change data.test from ["test"] to ["train"] where data.held_out takes a test text`)
}

// A loss that is no longer a number stops the run before anything bad is saved, and the last good step is named.
func TestDivergence(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	e := run(t, folder, "-set=train.learning_rate=1e30", "-set=schedule.warmup=0", "-set=checkpoint.every=1",
		"-out=wild")
	e.fails(t, "a huge learning rate", 1, "not finite", "lower train.learning_rate", "-out")
	if strings.Contains(e.stderr, "NaN") {
		t.Errorf("NaN was measured before it was noticed:\n%s", e.stderr)
	}

	mustRun(t, folder, "-out=good", "-steps=4")
	// Rising from almost nothing, the rate goes through good updates first.
	e = run(t, folder, "-set=train.learning_rate=1e34", "-set=schedule.warmup=200", "-set=schedule.kind=cosine",
		"-set=checkpoint.every=1", "-out=late", "-set=schedule.period=400", "-init=good")
	e.fails(t, "a rate that rises", 1, "not finite", "last good checkpoint is step-")
	run(t, folder, "-set=schedule.kind=noam", "-set=schedule.factor=1e34", "-set=schedule.warmup=1",
		"-set=train.clip_norm=0.5", "-out=noam").fails(t, "another schedule", 1, "lower schedule.factor",
		"lower train.clip_norm (0.5)")
	if !strings.Contains(read(t, folder, "late", "train.log"), "not finite") {
		t.Error("the log does not tell the end")
	}
}

// Damaged checkpoints are named and skipped; where none is left, nothing is overwritten.
func TestDamagedCheckpoints(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	settings := []string{"-steps=16", "-set=checkpoint.keep=4", "-set=decode.validation_beam=0"}
	train(t, folder, append(settings, "-out=whole")...)
	if err := os.CopyFS(filepath.Join(folder, "hurt"), os.DirFS(filepath.Join(folder, "whole"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(folder, "hurt", "results.json")); err != nil {
		t.Fatal(err)
	}
	checkpoints := filepath.Join(folder, "hurt", "checkpoints")
	if err := os.Truncate(filepath.Join(checkpoints, "step-16", modelFile), 1000); err != nil {
		t.Fatal(err)
	}
	flip(t, filepath.Join(checkpoints, "step-12", optimizerFile))
	e := mustRun(t, folder, append(settings, "-out=hurt", "-resume")...)
	for _, want := range []string{
		"warning: step-16/model.safetensors is cut off: 1000 of",
		"warning: step-12/optimizer.safetensors does not match its sha256", "continuing from step-8\n",
	} {
		if !strings.Contains(e.stderr, want) {
			t.Errorf("the process does not say %q:\n%s", want, e.stderr)
		}
	}
	same(t, folder, "whole", "hurt")

	if err := os.Remove(filepath.Join(folder, "hurt", "results.json")); err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{"step-4", "step-8", "step-12", "step-16"} {
		flip(t, filepath.Join(checkpoints, step, stateFile))
	}
	run(t, folder, append(settings, "-out=hurt", "-resume")...).fails(t, "no valid checkpoint", 1,
		"no valid checkpoint in", "step-16/state.json", "step-4/state.json", "does not match its sha256",
		"restore one from a copy, or remove the folder")
	if steps, _ := filepath.Glob(filepath.Join(checkpoints, "step-*")); len(steps) != 4 {
		t.Errorf("what is left: %q", steps)
	}
}

// flip changes one bit in the middle of a file.
func flip(t *testing.T, path string) {
	t.Helper()
	data := []byte(read(t, path))
	data[len(data)/2] ^= 4
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// A disk that fills up stops the run with a sentence; what was saved before can be used, and with space the run goes
// on.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	settings := []string{"-steps=16", "-set=checkpoint.keep=9", "-set=decode.validation_beam=0"}
	train(t, folder, append(settings, "-out=whole")...)
	disk := filepath.Join(folder, "disk")
	if err := os.Mkdir(disk, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("a small file system cannot be mounted here (%v): run as root to test a full disk", err)
	}
	defer syscall.Unmount(disk, 0)
	settings = append(settings, "-out=disk/run")
	run(t, folder, settings...).fails(t, "a full disk", 1, "disk", "is full: free space and run again with -resume")
	if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	if e := mustRun(t, folder, append(settings, "-resume")...); !strings.Contains(e.stderr, "continuing from step-") {
		t.Errorf("the run began anew:\n%s", e.stderr)
	}
	same(t, folder, "whole", "disk/run")
}

// So does a limit on the size of files.
func TestFileSizeLimit(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	c := process(folder, "-steps=4", "-out=out")
	limited := exec.Command("/bin/sh", append([]string{"-c", `ulimit -f 80; exec "$0" "$@"`, c.Path}, c.Args[1:]...)...)
	limited.Dir = c.Dir
	finish(t, limited).fails(t, "a limit on the size of files", 1, "step-4 could not be saved",
		"larger than this process may write")
	mustRun(t, folder, "-steps=4", "-out=out", "-resume")
}
