package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/runs/internal/command"
)

// flags are the command line.
type flags struct {
	folder, with, device, data string
	test                       []string
	threads, search            int
	json, save                 bool
	pointer                    language.Cache
	following                  language.Dynamic
	statistics                 int
	context                    models.XLContext
	rows                       int
	given                      *pflag.FlagSet
}

var about = command.Help{
	Name: "evaluate", Usage: "-run FOLDER -with static|cache|dynamic [flags]",
	Summary: "evaluate scores a trained language model on its validation and test texts: as it is, with a cache of recent words, or with weights that follow the text.",
}

func parse(args []string, stdout io.Writer) (*flags, error) {
	f := &flags{given: command.Flags("evaluate")}
	fs := f.given
	fs.StringVar(&f.folder, "run", "", "`FOLDER` of a training run")
	fs.StringVar(&f.with, "with", "static", "`HOW` to score: static (the model as it is), cache (with a cache of recent words) or dynamic (with weights that follow the text)")
	fs.BoolVar(&f.json, "json", false, "print JSON")
	fs.BoolVar(&f.save, "save", false, "cache and dynamic: keep the result in the run's folder, where runs/compare reads it")
	fs.StringVar(&f.data, "data", "", "`DIR` of the texts, where it is not the one that the run read")
	fs.StringSliceVar(&f.test, "test", nil, "`NAME,NAME...` of the test texts, in place of the run's")
	fs.IntVar(&f.search, "search", 30000, "settings below that are not given are searched for on the first `N` tokens of the validation text; 0 takes all of them")
	fs.Float64Var(&f.pointer.Theta, "theta", -1, "cache: theta, the factor on the similarity of two states: the larger, the more the most similar states count; searched for where it is not given")
	fs.Float64Var(&f.pointer.Lambda, "lambda", -1, "cache: lambda, its share of the probability; searched for where it is not given")
	fs.IntVar(&f.pointer.Window, "window", 500, "cache: `N` past positions that it holds")
	fs.Float64Var(&f.following.Rate, "rate", language.Published.Rate, "dynamic: learning rate; searched for where it is not given")
	fs.Float64Var(&f.following.Decay, "decay", language.Published.Decay, "dynamic: how far each update goes back towards the trained weights; searched for where -rate is not given")
	fs.Float64Var(&f.following.Epsilon, "epsilon", language.Published.Epsilon, "dynamic: number added to the root mean square of gradients, by which gradients are divided")
	fs.IntVar(&f.following.Chunk, "chunk", language.Published.Chunk, "dynamic: `N` tokens between updates")
	fs.IntVar(&f.statistics, "statistics", 0, "dynamic: take the root mean square of gradients over `N` chunks of the training text; 0 takes all")
	fs.IntVar(&f.context.Memory, "memory", 0, "transformer-xl: attend to `N` steps before a chunk, in place of the run's model.memory")
	fs.IntVar(&f.context.Clamp, "clamp", 0, "transformer-xl, with -memory: distances above `N` count as N; 0 is no limit")
	fs.BoolVar(&f.context.SameLength, "same-length", false, "transformer-xl, with -memory: let every step attend to the same number of steps")
	fs.IntVar(&f.rows, "target-length", 64, "transformer-xl, with -memory: `N` steps in a chunk")
	fs.StringVar(&f.device, "device", "auto", "`DEVICE`: cpu, cuda, cuda:N or auto")
	fs.IntVar(&f.threads, "threads", 0, "`N` CPU threads; 0 uses all that this process may use")
	usage := func(err error) error { return &command.UsageError{Err: err} }
	if err := about.Parse(fs, args, stdout); err != nil {
		return nil, err
	}
	for _, rule := range []struct {
		broken bool
		say    string
	}{
		{fs.NArg() > 0, fmt.Sprintf("unexpected argument %q: every option starts with a dash (evaluate -h lists them)", fs.Arg(0))},
		{f.folder == "", "-run is missing: give the folder of a training run"},
		{f.with != "static" && f.with != "cache" && f.with != "dynamic", fmt.Sprintf("-with is %q: use static, cache or dynamic", f.with)},
		{f.search < 0 || f.statistics < 0 || f.threads < 0, "-search, -statistics and -threads are numbers of at least 0"},
		{fs.Changed("theta") && !(f.pointer.Theta >= 0), "-theta is a number of at least 0"},
		{fs.Changed("lambda") && !(f.pointer.Lambda >= 0 && f.pointer.Lambda <= 1), "-lambda is a number from 0 to 1"},
		{f.context.Memory < 0 || f.context.Clamp < 0 || f.rows < 1, "-memory and -clamp are at least 0, and -target-length at least 1"},
		{f.with != "cache" && (fs.Changed("theta") || fs.Changed("lambda") || fs.Changed("window")), "-theta, -lambda and -window are settings of the cache: they go with -with=cache"},
		{f.with != "dynamic" && (fs.Changed("rate") || fs.Changed("decay") || fs.Changed("epsilon") || fs.Changed("chunk") || fs.Changed("statistics")),
			"-rate, -decay, -epsilon, -chunk and -statistics are settings of dynamic evaluation: they go with -with=dynamic"},
		{f.with == "static" && fs.Changed("search"), "-search is for the settings of cache and dynamic evaluation: it goes with -with=cache or -with=dynamic"},
		{f.save && f.with == "static", "-save is for what results.json has not: it goes with -with=cache or -with=dynamic"},
		{!fs.Changed("memory") && (fs.Changed("clamp") || fs.Changed("same-length") || fs.Changed("target-length")), "-clamp, -same-length and -target-length go with -memory: give that too"},
		{f.pointer.Window < 1 || f.following.Chunk < 1, "-window and -chunk are at least 1"},
		{!(f.following.Rate >= 0 && f.following.Decay >= 0 && f.following.Epsilon > 0), "-rate and -decay are numbers of at least 0, and -epsilon of more"},
	} {
		if rule.broken {
			return nil, usage(errors.New(rule.say))
		}
	}
	return f, nil
}
