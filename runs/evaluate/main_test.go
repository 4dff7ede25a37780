package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/runs/internal/train"
	"github.com/aperture-ml/aperture/torch"
)

// trained trains a tiny model on a text whose second half takes up words that its first half does not use.
func trained(t *testing.T, more ...string) string {
	t.Helper()
	folder := t.TempDir()
	out := filepath.Join(folder, "run")
	text := strings.Repeat("a b c d e f g h i j k l m\nc a b\nd f e\n", 12) + strings.Repeat("n o p q\nq p o n a\n", 20)
	for _, name := range []string{"ptb.train", "ptb.valid", "ptb.test"} {
		if err := os.WriteFile(filepath.Join(folder, name+".txt"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	spec := experiment.SpecOf("ptb")
	spec.DefaultPreset = "small"
	settings, err := experiment.Parse(spec,
		append([]string{"-data", folder, "-set=data.store=none", "-out", out, "-epochs=2", "-threads=1",
			"-method=adversarial", "-set=model.width=12", "-set=model.hidden=12", "-set=train.columns=4",
			"-set=train.valid_columns=2", "-set=train.learning_rate=2", "-set=report.plots=false",
			"-set=report.tensorboard=false", "-set=report.samples=0"}, more...))
	if err != nil {
		t.Fatal(err)
	}
	torch.Test(t, func() { err = train.Run(context.Background(), settings) })
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// evaluate runs the command.
func evaluate(t *testing.T, arguments ...string) (stdout string, err error) {
	t.Helper()
	stdout, _, err = evaluateAndSay(t, arguments...)
	return stdout, err
}

func evaluateAndSay(t *testing.T, arguments ...string) (stdout, progress string, err error) {
	t.Helper()
	f, err := parse(arguments, io.Discard)
	if err != nil {
		return "", "", err
	}
	var out, said bytes.Buffer
	torch.Test(t, func() { err = run(f, &out, &said) })
	return out.String(), said.String(), err
}

// TestSearchIsKept: what a search found is asked of the run's folder under the same conditions, and under no others;
// the result is the same.
func TestSearchIsKept(t *testing.T) {
	folder := trained(t)
	search := func(tokens int) (out, said string) {
		out, said, err := evaluateAndSay(t, "-run", folder, "-with=dynamic", "-statistics=5", "-threads=1", "-json",
			fmt.Sprint("-search=", tokens))
		if err != nil {
			t.Fatal(err)
		}
		return out, said
	}
	const pass, before = "search: a pass takes ", ", found before"
	first, said := search(60)
	if passes := strings.Count(said, "search: rate "); passes < 3 || !strings.Contains(said, pass) ||
		strings.Contains(said, before) {
		t.Errorf("the first search says\n%s", said)
	}
	again, saidAgain := search(60)
	if again != first || strings.Contains(saidAgain, pass) ||
		strings.Count(saidAgain, before) != strings.Count(said, "search: rate ") {
		t.Errorf("the second search gives\n%s\nwhere the first gave\n%s\nand says\n%s", again, first, saidAgain)
	}
	if _, said := search(70); strings.Contains(said, before) {
		t.Errorf("a longer search says\n%s", said)
	}
	out, said, err := evaluateAndSay(t, "-run", folder, "-with=dynamic", "-statistics=5", "-threads=1", "-json",
		"-search=60", "-decay=0.25")
	if passes := strings.Count(said, "search: rate "); err != nil || passes < 3 ||
		strings.Count(said, "decay 0.25:") != passes || !strings.Contains(out, `"decay": 0.25`) {
		t.Errorf("a search with a given decay: %v\n%s%s", err, said, out)
	}
	other := filepath.Join(filepath.Dir(folder), "other.txt")
	if err := os.WriteFile(other, []byte(strings.Repeat("a b d\n", 40)), 0o644); err != nil {
		t.Fatal(err)
	}
	_, said, err = evaluateAndSay(t, "-run", folder, "-with=dynamic", "-statistics=5", "-threads=1", "-search=60", "-valid=other")
	if err != nil || strings.Contains(said, before) {
		t.Errorf("a search on another text: %v\n%s", err, said)
	}
	_, err = evaluate(t, "-run", folder, "-with=cache", "-theta=1", "-lambda=0.1", "-window=20", "-save",
		"-valid=other")
	if err == nil || !strings.Contains(err.Error(), "other.txt is none of them: leave -save out") {
		t.Errorf("what is found of another text is kept: %v", err)
	}

	// What cannot be kept is shown all the same.
	if err := os.MkdirAll(filepath.Join(folder, "evaluation-cache.json", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err = evaluate(t, "-run", folder, "-with=cache", "-theta=1", "-lambda=0.1", "-window=20", "-save")
	if err == nil || !strings.Contains(err.Error(), "evaluation-cache.json") || !strings.Contains(out, "ppl") {
		t.Errorf("an evaluation that cannot be kept: %v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(folder, "search-dynamic.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := evaluate(t, "-run", folder, "-with=dynamic", "-statistics=5", "-search=60"); err == nil ||
		!strings.Contains(err.Error(), "search-dynamic.json") {
		t.Errorf("with a damaged file: %v", err)
	}
}

// TestSearchThatCannotBeKept goes on, and says so once.
func TestSearchThatCannotBeKept(t *testing.T) {
	folder := trained(t)
	f, err := parse([]string{"-run", folder, "-with=dynamic", "-threads=1", "-search=60"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	torch.Test(t, func() {
		var said bytes.Buffer
		e, err := open(f, &said)
		if err != nil {
			t.Fatal(err)
		}
		defer e.model.Free()
		moving, err := e.model.Dynamic(e.texts.Train.IDs, e.following.Chunk, 5)
		if err != nil {
			t.Fatal(err)
		}
		defer moving.Free()
		score, err := e.searching(moving)
		if err == nil {
			err = os.Rename(folder, folder+" elsewhere")
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, rate := range []float64{1e-4, 2e-4} {
			d := e.following
			d.Rate = rate
			if nll, err := score(d); err != nil || !(nll > 0) {
				t.Errorf("at the rate %v: %v, %v", rate, nll, err)
			}
		}
		if strings.Count(said.String(), "cannot keep what it finds") != 1 {
			t.Errorf("the search says\n%s", &said)
		}
	})
}

func TestEvaluate(t *testing.T) {
	folder := trained(t)
	results, err := record.Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]record.Evaluation{}
	for with, arguments := range map[string][]string{
		"static": nil, "cache": {"-window=30"},
		"dynamic": {"-statistics=10", "-rate=0.0005", "-epsilon=0.001"},
	} {
		out, err := evaluate(t, append(arguments, "-run", folder, "-with", with, "-json", "-threads=1")...)
		if err != nil {
			t.Fatal(err)
		}
		var r record.Evaluation
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		if r.With != with || r.Run != folder || len(r.Test) != 1 || math.IsNaN(r.Valid.PPL.Value()) ||
			(r.Settings == nil) != (with == "static") {
			t.Errorf("%s: %s", with, out)
		}
		found[with] = r
	}
	static := found["static"]
	for what, pair := range map[string][2]float64{
		"valid": {static.Valid.NLL.Value(), results.Valid.NLL.Value()},
		"test":  {static.Test["ptb.test"].NLL.Value(), results.Test["ptb.test"].NLL.Value()},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-6 {
			t.Errorf("%s: the loss is %v, in results.json %v", what, pair[0], pair[1])
		}
	}
	if s := static.Valid; s.Legacy == nil || !(s.Legacy.Value() < s.PPL.Value()) {
		t.Errorf("static: %+v", s)
	}
	for _, with := range []string{"cache", "dynamic"} {
		if s := found[with].Test["ptb.test"]; s.Static == nil || !(s.PPL.Value() < s.Static.Value()) {
			t.Errorf("%s does not lower the perplexity of a text that repeats itself: %v", with, s)
		}
	}
	if stride := found["dynamic"].Settings["stride"]; stride != nil {
		t.Errorf("a network that carries a state reads windows %v apart", stride)
	}
	if _, err := os.Stat(filepath.Join(folder, "evaluation-cache.json")); err == nil {
		t.Error("an evaluation is kept without -save")
	}
	plain, err := evaluate(t, "-run", folder, "-with=cache", "-theta=1", "-lambda=0.1", "-window=20", "-threads=1",
		"-save")
	if err != nil || !strings.Contains(plain, `cache with {"lambda":0.1,"theta":1,"window":20}`) ||
		strings.Count(plain, "ppl ") != 2 {
		t.Errorf("%v: %s", err, plain)
	}
	for args, want := range map[string]string{
		"-theta=1 -lambda=1 -window=5": "with lambda 1 gives some word of the text the probability 0: set it lower",
		"-theta=1 -lambda=0.1":         "ptb.valid: a cache of 500 positions says nothing of a text of 484 tokens: lower -window",
		"-window=100 -search=60 -json": "a cache of 100 positions says nothing of a text of 60 tokens: lower -window",
	} {
		_, err := evaluate(t, append(strings.Fields(args), "-run", folder, "-with=cache", "-threads=1", "-save")...)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "ptb.valid") > 1 {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}

	kept, err := record.ReadEvaluation(folder, "cache")
	if err != nil || kept == nil || kept.Settings["lambda"] != 0.1 || kept.Searched != nil ||
		!strings.Contains(plain, fmt.Sprintf("ppl %.2f", kept.Test["ptb.test"].PPL.Value())) {
		t.Errorf("%v: %+v is kept of %s", err, kept, plain)
	}
	if searched := found["cache"].Searched; !slices.Equal(searched, []string{"theta", "lambda"}) ||
		found["dynamic"].Searched != nil {
		t.Errorf("the cache's settings %v were searched for, and those of dynamic evaluation %v", searched,
			found["dynamic"].Searched)
	}

	_, err = evaluate(t, "-run", folder, "-with=dynamic", "-statistics=10", "-rate=1e36", "-threads=1")
	if err == nil || !strings.Contains(err.Error(), "diverge at the rate 1e+36 with the decay ") {
		t.Errorf("a rate at which weights diverge: %v", err)
	}
	// The loss of these is a number, its perplexity none that fits.
	_, err = evaluate(t, "-run", folder, "-with=dynamic", "-statistics=10", "-rate=1e9", "-decay=0", "-threads=1")
	if err == nil || !strings.Contains(err.Error(), "diverge at the rate 1e+09 with the decay 0: give a lower -rate or -decay") {
		t.Errorf("a rate at which the loss explodes: %v", err)
	}
	if _, err = evaluate(t, "-run", folder, "-valid=", "-test="); err == nil ||
		!strings.Contains(err.Error(), "there is no text to score") {
		t.Errorf("no text: %v", err)
	}
	_, err = evaluate(t, "-run", filepath.Dir(folder))
	if err == nil || !strings.Contains(err.Error(), "holds no run") {
		t.Errorf("a folder without a run: %v", err)
	}
	_, err = evaluate(t, "-run", folder, "-data", filepath.Join(folder, "none"))
	if err == nil || !strings.Contains(err.Error(), "there is no folder") {
		t.Errorf("no data: %v", err)
	}
	// The training text is read where something is learnt from it, and nowhere else.
	if err := os.Remove(filepath.Join(filepath.Dir(folder), "ptb.train.txt")); err != nil {
		t.Fatal(err)
	}
	for with, want := range map[string]string{"static": "", "cache -window=20": "",
		"dynamic": "ptb.train.txt: there is no such file"} {
		_, err := evaluate(t, append(strings.Fields("-with="+with), "-run", folder, "-threads=1")...)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("-with=%s without the training text: %v", with, err)
		}
	}
	// A text can be scored by itself.
	both, err := evaluate(t, "-run", folder, "-threads=1")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(filepath.Dir(folder), "ptb.valid.txt")); err != nil {
		t.Fatal(err)
	}
	alone, err := evaluate(t, "-run", folder, "-threads=1", "-valid=", "-test=ptb.test")
	if err != nil || !strings.HasPrefix(both, "valid ") || !strings.HasSuffix(both, "\n"+alone) {
		t.Errorf("both texts: %q; the second alone: %q, %v", both, alone, err)
	}
	asJSON, err := evaluate(t, "-run", folder, "-threads=1", "-valid=", "-json", "-with=cache", "-theta=0.1",
		"-lambda=0.1", "-window=20")
	if err != nil || strings.Contains(asJSON, `"valid"`) || !strings.Contains(asJSON, `"ptb.test"`) {
		t.Errorf("without a validation text: %s, %v", asJSON, err)
	}
	_, err = evaluate(t, "-run", folder, "-threads=1")
	if err == nil || !strings.Contains(err.Error(), "ptb.valid.txt: there is no such file; -valid names it") {
		t.Errorf("no validation text: %v", err)
	}
	short := filepath.Join(filepath.Dir(folder), "short.txt")
	if err := os.WriteFile(short, []byte("a\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err = evaluate(t, "-run", folder, "-threads=1", "-valid=short", "-test=")
	if err == nil || !strings.Contains(err.Error(), "short: the text has 2 tokens with the ends of lines, too few "+
		"for 2 columns of two: give more text") {
		t.Errorf("a short text: %v", err)
	}
}

// TestHeadless: a run by headless, whose preset asks for a bias, is scored by weights that follow the text, and mle goes
// on from it.
func TestHeadless(t *testing.T) {
	folder := trained(t, "-method=headless")
	score := func(run string, how ...string) record.TextScores {
		out, err := evaluate(t, append(how, "-run", run, "-json", "-threads=1")...)
		var r record.Evaluation
		if err == nil {
			err = json.Unmarshal([]byte(out), &r)
		}
		if err != nil {
			t.Fatalf("%q: %v", how, err)
		}
		return r.Test["ptb.test"]
	}
	still := score(folder, "-with=dynamic", "-statistics=5", "-rate=0", "-decay=0")
	if math.Abs(still.PPL.Value()-still.Static.Value()) > 1e-4 {
		t.Errorf("the perplexity is %v with weights that stay, and %v as it is", still.PPL, *still.Static)
	}
	before, after := score(folder).NLL.Value(), score(trained(t, "-method=mle", "-init="+folder)).NLL.Value()
	if !(after < before-0.01) {
		t.Errorf("the loss was %v, and is %v where mle trained on", before, after)
	}
}

func TestUsage(t *testing.T) {
	for _, c := range []struct{ argument, part string }{
		{"-with=static", "-run is missing"}, {"-run=x -with=luck", "-with=luck: it wants one of"},
		{"-run=x -with=cache -lambda=2", "-lambda=2: it wants a number from"},
		{"-run=x -with=cache -window=0", "-window=0: it wants"},
		{"-run=x y", `"y"`}, {"-run=x -nothing", "nothing"},
		{"-run=x -epsilon=0 -with=dynamic", "-epsilon=0: it wants a number above 0"},
		{"-run=x -lambda=0.1", "-with=cache"}, {"-run=x -with=dynamic -window=9", "-with=cache"},
		{"-run=x -with=cache -rate=1", "-with=dynamic"},
		{"-run=x -with=dynamic -stride=5", "-with=static or"},
		{"-run=x -search=9", "-with=cache or"}, {"-run=x -save", "-save goes with"},
		{"-run=x -with=cache -theta=1 -lambda=0.1 -search=9", "-search: the settings are given"}, {"-run=x -clamp=9", "-memory"},
		{"-run=x -valid= -with=cache -theta=1", "name one with -valid"},
		{"-run=x -valid= -with=dynamic", "name one with -valid"}, {"-run=x -target-length=9", "-memory"}, {"-run=x -same-length", "-memory"},
		{"-run=x -with=dynamic -memory=5 -target-length=9", "-with=dynamic, which reads -chunk"},
	} {
		_, err := parse(strings.Fields(c.argument), io.Discard)
		var usage *command.UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: %v", c.argument, err)
		}
	}
	var help bytes.Buffer
	if _, err := parse([]string{"-h"}, &help); !errors.Is(err, command.ErrHelp) ||
		!strings.Contains(help.String(), "-with static|cache|dynamic") {
		t.Errorf("%v: %s", err, &help)
	}
}

// TestTextsOfTheSample: no file is named by what scores the sample, and an imported model has no sample.
func TestTextsOfTheSample(t *testing.T) {
	for _, c := range []struct {
		arguments, preset string
		sample            bool
		want              string
	}{
		{"-run=x", "quick", true, ""}, {"-run=x -valid=", "quick", true, ""}, {"-run=x -data=d -test=t", "quick", false, ""},
		{"-run=x -valid=mine", "quick", true, "-valid=mine: x was trained on the built-in sample"},
		{"-run=x -test=mine,other", "quick", true, "-test=mine,other: x was trained on the built-in sample"},
		{"-run=x", experiment.Imported, true, "no text came with it: -data names"},
		{"-run=x -data=d", experiment.Imported, false, ""},
	} {
		f, err := parse(strings.Fields(c.arguments), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		err = f.named(experiment.Config{Preset: c.preset}, c.sample)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s of %s: %v, want %q", c.arguments, c.preset, err, c.want)
		}
	}
}

// TestStaticOfMemory: with weights that stay, dynamic evaluation of a Transformer-XL is static: the figure beside it is
// of the same chunks, which say how much memory a word has.
func TestStaticOfMemory(t *testing.T) {
	folder := trained(t, "-method=mle", "-set=model.kind=transformer-xl", "-set=model.heads=2", "-set=model.ffn_width=20",
		"-set=train.bptt=8", "-set=train.bptt_random=false", "-set=model.memory=9", "-set=train.optimizer=adam",
		"-set=train.learning_rate=0.02")
	for _, more := range [][]string{nil, {"-memory=5"}} {
		out, err := evaluate(t, append(more, "-run", folder, "-json", "-threads=1", "-with=dynamic", "-statistics=5", "-rate=0",
			"-decay=0", "-chunk=3")...)
		var r record.Evaluation
		if err == nil {
			err = json.Unmarshal([]byte(out), &r)
		}
		if err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		s := r.Test["ptb.test"]
		if math.Abs(s.Static.Value()-s.PPL.Value()) > 1e-4 || r.Settings["target_length"] != 3.0 {
			t.Errorf("%q: with chunks of %v perplexity %v, as it is %v", more, r.Settings["target_length"], s.PPL, *s.Static)
		}
	}
}

// TestWindows: a GPT's texts are scored in windows as in training, or in those that -stride asks for.
func TestWindows(t *testing.T) {
	folder := trained(t, "-method=mle", "-set=model.kind=gpt", "-set=model.heads=2", "-set=model.ffn_width=20",
		"-set=train.bptt=8", "-set=objective.bias=false", "-set=model.positions=rotary", "-set=data.units=bytes-bpe",
		"-set=data.pieces=260", "-set=train.optimizer=adam", "-set=train.learning_rate=0.02")
	results, err := record.Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	read := func(more ...string) (r record.Evaluation) {
		out, err := evaluate(t, append(more, "-run", folder, "-json", "-threads=1")...)
		if err == nil {
			err = json.Unmarshal([]byte(out), &r)
		}
		if err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		return r
	}
	one, windows := results.Test["ptb.test"], read().Test["ptb.test"]
	if math.Abs(one.NLL.Value()-windows.NLL.Value()) > 1e-6 || one.AnyUnits != windows.AnyUnits ||
		!(one.PPLWord.Value() > one.PPL.Value()) || !(one.BitsByte.Value() > 0) {
		t.Errorf("%+v, in results.json %+v", windows, one)
	}
	if same := read("-stride=8"); same.Test["ptb.test"].NLL != windows.NLL || same.Settings["stride"] != 8.0 {
		t.Errorf("a stride of a whole window: %+v", same)
	}
	if near := read("-stride=1").Test["ptb.test"]; near.NLL == windows.NLL || near.Tokens != windows.Tokens {
		t.Errorf("windows one token apart: %+v, side by side %+v", near, windows)
	}
	// With weights that stay, dynamic evaluation is static: the figure beside it is of the same windows.
	still := []string{"-with=dynamic", "-statistics=5", "-rate=0", "-decay=0"}
	for chunk, stride := range map[string]float64{"3": 3, "4": 4, "20": 8} {
		r := read(append(still, "-chunk="+chunk)...)
		s := r.Test["ptb.test"]
		if math.Abs(s.Static.Value()-s.PPL.Value()) > 1e-4 || r.Settings["stride"] != stride {
			t.Errorf("chunks of %s, in windows %v apart: perplexity %v, as it is %v", chunk, r.Settings["stride"], s.PPL,
				*s.Static)
		}
		if stride < 4 {
			continue // no divisor of a window, which -stride wants
		}
		windows := read("-with=cache", "-theta=1", "-lambda=0", fmt.Sprint("-stride=", stride)).Test["ptb.test"]
		if math.Abs(windows.PPL.Value()-s.PPL.Value()) > 1e-4 {
			t.Errorf("chunks of %s have perplexity %v, and windows as far apart %v", chunk, s.PPL, windows.PPL)
		}
	}
	plain, err := evaluate(t, append(still, "-run", folder, "-threads=1")...)
	if err != nil || !strings.Contains(plain, `"stride":5`) || strings.Count(plain, " in the same windows)") != 2 {
		t.Errorf("%v: %s", err, plain)
	}
	_, err = evaluate(t, "-run", folder, "-stride=3")
	if err == nil || command.ExitCode(err) != 2 || !strings.Contains(err.Error(), "does not divide") {
		t.Errorf("a stride of 3: %v", err)
	}
}
