package main

import (
	"io"

	"github.com/spf13/pflag"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/runs/internal/command"
)

// flags are the command line.
type flags struct {
	Run        string   `flag:"run" needed:"give the folder of a training run" help:"<FOLDER> of a training run"`
	With       string   `flag:"with" default:"static" choice:"static cache dynamic" help:"<HOW> to score: static (the model as it is), cache (with a cache of recent words) or dynamic (with weights that follow the text)"`
	JSON       bool     `flag:"json" help:"print JSON"`
	Save       bool     `flag:"save" with:"with=cache,dynamic" help:"cache and dynamic: keep the result in the run's folder, where runs/compare reads it"`
	Data       string   `flag:"data" help:"<DIR> of the texts, where it is not the one that the run read"`
	Valid      string   `flag:"valid" help:"<NAME> of the validation text, in place of the run's; with -valid= there is none, and nothing is searched for"`
	Test       []string `flag:"test" list:"," help:"<NAME,NAME...> of the test texts, in place of the run's"`
	Search     int      `flag:"search" default:"30000" range:"[0,inf)" with:"with=cache,dynamic" help:"settings below that are not given are searched for on the first <N> tokens of the validation text; 0 takes all of them"`
	Theta      float64  `flag:"theta" default:"-1" range:"[0,inf)" with:"with=cache" help:"cache: theta, the factor on the similarity of two states: the larger, the more the most similar states count (default: searched for)"`
	Lambda     float64  `flag:"lambda" default:"-1" range:"[0,1]" with:"with=cache" help:"cache: lambda, its share of the probability (default: searched for)"`
	Window     int      `flag:"window" default:"500" range:"[1,inf)" with:"with=cache" help:"cache: <N> past positions that it holds"`
	Rate       float64  `flag:"rate" range:"[0,inf)" with:"with=dynamic" help:"dynamic: learning rate (default: searched for; search-dynamic.json in the run's folder keeps what was tried)"`
	Decay      float64  `flag:"decay" range:"[0,inf)" with:"with=dynamic" help:"dynamic: how far each update goes back towards the trained weights (default: searched for where -rate is)"`
	Epsilon    float64  `flag:"epsilon" range:"(0,inf)" with:"with=dynamic" help:"dynamic: number added to the root mean square of gradients, by which gradients are divided"`
	Chunk      int      `flag:"chunk" range:"[1,inf)" with:"with=dynamic" help:"dynamic: <N> tokens between updates; the windows of a gpt begin as far apart, for the static perplexity beside it too"`
	Statistics int      `flag:"statistics" range:"[0,inf)" with:"with=dynamic" help:"dynamic: take the root mean square of gradients over <N> chunks of the training text; 0 takes all"`
	Memory     int      `flag:"memory" range:"[0,inf)" help:"transformer-xl: attend to <N> steps before a chunk, in place of the run's model.memory"`
	Clamp      int      `flag:"clamp" range:"[0,inf)" with:"memory" help:"transformer-xl, with -memory: distances above <N> count as N; 0 is no limit"`
	SameLength bool     `flag:"same-length" with:"memory" help:"transformer-xl, with -memory: let every step attend to the same number of steps"`
	Rows       int      `flag:"target-length" default:"64" range:"[1,inf)" with:"memory" help:"transformer-xl, with -memory: <N> steps in a chunk"`
	Stride     int      `flag:"stride" range:"[1,inf)" with:"with=static,cache" help:"gpt, static and cache: windows of train.bptt tokens begin <N> tokens apart, and each scores its last N, in place of the run's train.stride"`
	command.Machine

	pointer   language.Cache
	following language.Dynamic
	context   models.XLContext
	given     *pflag.FlagSet
}

var about = command.Help{
	Name: "evaluate", Usage: "-run FOLDER -with static|cache|dynamic [flags]",
	Summary: "evaluate scores a trained language model on its validation and test texts: as it is, with a cache of " +
		"recent words, or with weights that follow the text.",
	NoArgs: "every option starts with a dash (evaluate -h lists them)",
}

func parse(args []string, stdout io.Writer) (f *flags, err error) {
	first := language.Published
	f = &flags{Rate: first.Rate, Decay: first.Decay, Epsilon: first.Epsilon, Chunk: first.Chunk}
	if f.given, err = about.Read(f, args, stdout); err != nil {
		return nil, err
	}
	if f.given.Changed("valid") && f.Valid == "" && len(f.searched()) > 0 {
		return nil, command.Usagef("-with=%s searches for settings on the validation text: name one with -valid, or give "+
			"the settings", f.With)
	}
	if f.given.Changed("target-length") && f.With == "dynamic" {
		return nil, command.Usagef("-target-length does not go with -with=dynamic, which reads -chunk tokens at a time")
	}
	if f.given.Changed("search") && len(f.searched()) == 0 {
		return nil, command.Usagef("-search: the settings are given, and nothing is searched for: leave it out")
	}
	f.pointer = language.Cache{Theta: f.Theta, Lambda: f.Lambda, Window: f.Window}
	f.following = language.Dynamic{Rate: f.Rate, Decay: f.Decay, Epsilon: f.Epsilon, Chunk: f.Chunk}
	f.context = models.XLContext{Memory: f.Memory, Clamp: f.Clamp, SameLength: f.SameLength}
	return f, nil
}

// searched are the settings that the validation text is to choose.
func (f *flags) searched() (names []string) {
	switch {
	case f.With == "cache":
		for _, name := range []string{"theta", "lambda"} {
			if !f.given.Changed(name) {
				names = append(names, name)
			}
		}
	case f.With == "dynamic" && !f.given.Changed("rate"):
		if names = []string{"rate"}; !f.given.Changed("decay") {
			names = append(names, "decay")
		}
	}
	return names
}
