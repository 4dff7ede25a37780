package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/runs/internal/command"
)

// Header are the keys of FILE.toml above its sections.
type Header struct {
	Command string   `toml:"command" help:"a folder under runs/, as in \"multi30k\", or the path of a program that takes the same flags"`
	Args    []string `toml:"args" default:"[]" help:"flags of every run, as in [\"-data=../corpus\", \"-preset=quick\", \"-set=train.epochs=10\"]"`
	Methods []string `toml:"methods" default:"[\"mle\"]" help:"the methods to search, as -method takes them"`
	Control string   `toml:"control" default:"mle" help:"the method that the others are compared with; it is one of them"`

	Search string `toml:"search" default:"random" choice:"grid random halving" help:"all combinations; random draws; or random draws of which the best go on to train longer"`
	Trials int    `toml:"trials" default:"8" range:"[1,100000]" help:"random, halving: draws for each method"`
	Seed   int    `toml:"seed" default:"1" range:"[0,inf)" help:"seed of the draws"`
	Rungs  int    `toml:"rungs" default:"3" range:"[2,20]" help:"halving: stages, of which the last trains the full length"`
	Keep   int    `toml:"keep" default:"3" range:"[2,1000]" help:"halving: one trial in keep goes on to the next stage, which is keep times as long"`

	Shared string `toml:"shared" default:"together" choice:"together control" help:"who searches [keys]: every method together with its own; or the control alone, with the number of trials that each other method then has for its own keys, beside the control's best values of [keys]"`

	Score string `toml:"score" default:"loss" choice:"loss bleu" help:"the validation score that chooses: the loss of the best checkpoint, or the best BLEU that was measured while training"`
	Seeds int    `toml:"seeds" default:"3" range:"[1,10000]" help:"what was chosen is trained with this number of seeds and tested"`
	First int    `toml:"first_seed" default:"1" range:"[1,1000000000]" help:"the first of these seeds; above 1 no seed that chose is tested: it has to be above those of the search, which has seed 1, and 2, 3 and so on where a point comes again"`

	Jobs    int `toml:"jobs" default:"1" range:"[1,1024]" help:"runs at a time; -jobs replaces it"`
	Threads int `toml:"threads" default:"1" range:"[1,4096]" help:"threads of each run, on processors of its own where there are enough"`

	Sweeps []string `toml:"sweeps" default:"[]" help:"in place of a search: files beside this one, each a search, that run one after the other"`

	Minutes float64 `toml:"minutes" default:"0" range:"[0,inf)" help:"about how long one full training takes on these threads: -dry-run reckons with it as long as nothing has run"`
}

var (
	schema   = keys.New[Header]("")
	defaults = schema.Defaults()
)

const spaceHelp = `
[keys]                                        # searched by every method, or by the control for all (shared)
# train.learning_rate = {log = [0.0003, 0.003]} # drawn evenly on a logarithmic scale
# model.dropout = {uniform = [0.1, 0.4]}        # drawn evenly; whole numbers where both ends are
# schedule.warmup = [400, 800]                  # one of these; grid takes lists only
[method.cosreg]                               # searched by this method besides
# objective.gamma = {log = [0.1, 10.0]}
`

// search is a whole FILE.toml.
type search struct {
	Header
	file   string
	shared []dimension            // searched by every method
	own    map[string][]dimension // by method
}

func readSearch(path string) (*search, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("what to search cannot be read: %w", err)
	}
	s, err := parseSearch(string(text), path)
	if err != nil {
		return nil, &command.UsageError{Err: err}
	}
	return s, nil
}

func parseSearch(text, path string) (*search, error) {
	s, err := searchOf(text, path)
	return s, files.Plain(err)
}

func searchOf(text, path string) (*search, error) {
	tree, err := keys.Parse(text, path)
	if err != nil {
		return nil, err
	}
	s := &search{Header: defaults, file: path, own: map[string][]dimension{}}
	shared, methods := tree["keys"], tree["method"]
	delete(tree, "keys")
	delete(tree, "method")
	if _, err := schema.Lay(&s.Header, tree, path, false); err != nil {
		return nil, err
	}
	if err := s.fill(shared, methods); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// fill reads what is searched by every method, and by single ones.
func (s *search) fill(shared, methods any) (err error) {
	if err := s.check(); err != nil {
		return err
	}
	if len(s.Sweeps) > 0 && (shared != nil || methods != nil) {
		return errors.New("sweeps names other searches, and [keys] and [method.NAME] are of one: move them there")
	}
	if s.shared, err = dimensions(shared, "[keys]"); err != nil {
		return err
	}
	own, _ := methods.(map[string]any)
	for _, method := range slices.Sorted(maps.Keys(own)) {
		if !slices.Contains(s.Methods, method) {
			return fmt.Errorf("[method.%s] searches for a method that is not in methods (%s): add it there, "+
				"or remove the section", method, strings.Join(s.Methods, ", "))
		}
		if s.own[method], err = dimensions(own[method], "[method."+method+"]"); err != nil {
			return err
		}
	}
	return s.checkSpaces()
}

// reserved are the flags that the sweep itself gives.
var reserved = strings.Fields("method seed out resume threads steps epochs plan print-config h help")

// check says what in the header means nothing.
func (s *search) check() error {
	if len(s.Sweeps) > 0 {
		alone := defaults
		if alone.Sweeps = s.Sweeps; !reflect.DeepEqual(s.Header, alone) {
			return errors.New("sweeps names other searches, and this file has keys of a search of its own, which no one " +
				"would read: leave one of the two out")
		}
		return nil
	}
	if s.Command == "" {
		return fmt.Errorf("command is missing: name a folder under runs/, as in command = \"multi30k\"")
	}
	if len(s.Methods) == 0 {
		return fmt.Errorf("methods is empty: name at least one, as in methods = [\"mle\", \"spectrum\"]")
	}
	for i, m := range s.Methods {
		if slices.Contains(s.Methods[:i], m) {
			return fmt.Errorf("methods names %s twice", m)
		}
	}
	if !slices.Contains(s.Methods, s.Control) {
		return fmt.Errorf("control = %q is not in methods (%s): without its trials there is nothing to compare with",
			s.Control, strings.Join(s.Methods, ", "))
	}
	for i, arg := range s.Args {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if slices.Contains(reserved, name) {
			way := "its own key of the file does that"
			if name == "steps" || name == "epochs" {
				way = fmt.Sprintf("write -set=train.%s=N", name)
			}
			return fmt.Errorf("args holds %s, which the sweep gives each run: %s", arg, way)
		}
		setting := strings.TrimPrefix(strings.TrimLeft(arg, "-"), "set=")
		if name == "set" && i+1 < len(s.Args) && setting == name {
			setting = s.Args[i+1]
		}
		key, _, _ := strings.Cut(setting, "=")
		if why := owned[strings.TrimSpace(key)]; why != "" {
			return fmt.Errorf("args holds %s: %s", setting, why)
		}
	}
	return nil
}

// owned are keys that the sweep gives each run, and why nobody else does.
var owned = map[string]string{
	"train.seed":       "seed, seeds and first_seed of the file say which the sweep takes",
	"objective.method": "methods of the file names them",
	"train.threads":    "threads of the file sets it",
	"report.test":      "the sweep scores test texts for what was chosen only",
}

// mostTrials is how many trials a method has at most, as the range of trials says.
const mostTrials = 100_000

// checkSpaces refuses a grid that no one waits for, a range where only lists make sense, a key that the sweep or the
// stages of halving set, and a key of a method that every method searches already.
func (s *search) checkSpaces() error {
	for _, method := range s.Methods {
		space := slices.Concat(s.shared, s.own[method])
		combinations := 1
		for i, d := range space {
			if combinations *= max(len(d.values), 1); s.Search == "grid" && combinations > mostTrials {
				return fmt.Errorf("the grid of %s has more than %d combinations: shorten its lists, or write "+
					"search = \"random\"", method, mostTrials)
			}
			if s.Search == "grid" && d.values == nil {
				return fmt.Errorf("%s is a range, and a grid wants a list of values: write one, or search = \"random\"",
					d.key)
			}
			if why := owned[d.key]; why != "" {
				return fmt.Errorf("%s cannot be searched: %s", d.key, why)
			}
			if s.Search == "halving" && (d.key == "train.steps" || d.key == "train.epochs") {
				return fmt.Errorf("%s is searched, and halving sets it for each stage: set it in args, or write "+
					"search = \"random\"", d.key)
			}
			for _, other := range space[:i] {
				if other.key == d.key {
					return fmt.Errorf("%s stands in [keys] and in [method.%s]: remove one of them", d.key, method)
				}
			}
		}
	}
	return nil
}

func (s *search) space(method string) []dimension {
	if s.follows(method) {
		return s.own[method]
	}
	return slices.Concat(s.shared, s.own[method])
}

// follows says whether a method takes the control's best values of [keys] instead of searching them itself.
func (s *search) follows(method string) bool { return s.Shared == "control" && method != s.Control }
