package command

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type shared struct {
	Run string `flag:"run" needed:"give the folder of a training run" help:"<FOLDER> of a training run"`
}

type toyOptions struct {
	shared
	Language string   `flag:"language,l" default:"en" help:"<CODE> of the language"`
	Jobs     int      `flag:"jobs" default:"2" range:"[1,64]" help:"<N> at a time"`
	Rate     float64  `flag:"rate" range:"[0,inf)" with:"how=cache,dynamic" help:"how fast"`
	How      string   `flag:"how" default:"static" choice:"static cache dynamic" help:"<HOW> to score"`
	Resume   bool     `flag:"resume" help:"go on"`
	Retry    bool     `flag:"retry" with:"resume" help:"try again what is <unk>"`
	Seed     uint64   `flag:"seed" default:"1" not:"resume how offset" help:"seed <N>"`
	Offset   int64    `flag:"offset" help:"start there"`
	Metrics  []string `flag:"metric" default:"bleu" list:"," choice:"bleu chrf" help:"<METRICS>"`
	Set      []string `flag:"set" help:"<KEY=VALUE> of one key"`
	NoFlag   int
}

var toy = Help{Name: "toy", Summary: "toy plays.", NoArgs: "toy takes none"}

// Every type of field, letters, embedded structs, and defaults of tags and of fields reach the struct.
func TestRead(t *testing.T) {
	f := toyOptions{Offset: 7}
	args := strings.Fields("-run=x -l de -jobs 3 -how cache -rate .5 -metric bleu,chrf -set a=1,2 -set b=3 -retry " +
		"-resume")
	fs, err := toy.Read(&f, args, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := toyOptions{
		shared: shared{"x"}, Language: "de", Jobs: 3, Rate: .5, How: "cache", Resume: true, Retry: true, Seed: 1,
		Offset:  7,
		Metrics: []string{"bleu", "chrf"}, Set: []string{"a=1,2", "b=3"},
	}
	if diff := cmp.Diff(want, f, cmp.AllowUnexported(toyOptions{})); diff != "" {
		t.Error(diff)
	}
	for _, off := range []string{"-resume=false", "-offset=0"} {
		if _, err := toy.Read(&toyOptions{}, []string{"-run=x", "-seed=3", off}, nil); err != nil {
			t.Errorf("%s counts as given: %v", off, err)
		}
	}
	if fs.Changed("seed") || !fs.Changed("jobs") {
		t.Error("the flag set does not know what was given")
	}
	f = toyOptions{}
	if _, err := toy.Read(&f, []string{"-run=x", "-metric=chrf"}, nil); err != nil ||
		!cmp.Equal(f.Metrics, []string{"chrf"}) {
		t.Errorf("a list given in place of its default is %v (%v)", f.Metrics, err)
	}
	if f.Jobs != 2 || f.Language != "en" || f.How != "static" {
		t.Errorf("defaults: %+v", f)
	}
	var out strings.Builder
	if _, err := toy.Read(&toyOptions{}, []string{"-h"}, &out); !errors.Is(err, ErrHelp) {
		t.Fatal(err)
	}
	for _, line := range []string{
		"  -run FOLDER          FOLDER of a training run", "  -l, -language CODE   CODE of the language (default en)",
		"  -retry               try again what is <unk>", "  -metric METRICS      METRICS (default bleu)",
	} {
		if !strings.Contains(out.String(), line+"\n") {
			t.Errorf("help lacks %q:\n%s", line, out.String())
		}
	}
}

// What the tags do not allow is a sentence that names the flag.
func TestReadErrors(t *testing.T) {
	for args, want := range map[string]string{
		"":                            "-run is missing: give the folder of a training run",
		"-run=x y":                    `unexpected argument "y": toy takes none`,
		"-run=x -jobs=65":             "-jobs=65: it wants a whole number from 1 to 64",
		"-run=x -how=odd":             "-how=odd: it wants one of static, cache, dynamic",
		"-run=x -metric=bleu,ter":     "-metric=ter: it wants one of bleu, chrf",
		"-run=x -rate=1":              "-rate goes with -how=cache or -how=dynamic",
		"-run=x -how=cache -rate=-1":  "-rate=-1: it wants a number of at least 0",
		"-run=x -how=cache -rate=nan": "-rate=NaN: it wants a number of at least 0",
		"-run=x -retry":               "-retry goes with -resume",
		"-run=x -resume=false -retry": "-retry goes with -resume",
		"-run=x -seed=3 -resume":      "-seed does not go with -resume: leave one of the two out",
		"-how=cache -run=x -seed=3":   "-seed does not go with -how: leave one of the two out",
		"-offset=1 -run=x -seed=3":    "-seed does not go with -offset: leave one of the two out",
	} {
		_, err := toy.Read(&toyOptions{}, strings.Fields(args), nil)
		if ExitCode(err) != 2 || err.Error() != want {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}
