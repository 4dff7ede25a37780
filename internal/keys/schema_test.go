package keys_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/internal/keys"
)

// toy is a configuration in the way of package experiment: keys above all sections, sections, and structs of other
// packages that stand within a section.
type toy struct {
	Name string `toml:"name" help:"what it is called"`

	Data  data  `toml:"data" task:"translation" resume:"free"`
	Train train `toml:"train"`

	Note   string `toml:"-"`
	Hidden int    // no tag: no key
}

type data struct {
	limits `resume:"location" kinds:"a b"` // another resume tag than the section's
	Dir    string                          `toml:"dir" task:"language model" help:"folder of the texts"`
	Test   []string                        `toml:"test" default:"[\"a\", \"b\"]" help:"names of the texts"`
}

type limits struct {
	Longest int     `toml:"longest" default:"7" range:"[0,inf)" help:"longest line"`
	Ratio   float64 `toml:"ratio" resume:"named" kinds:"c" default:"1.5" range:"[1,10]" help:"largest ratio"`
}

type train struct {
	Rate  float64 `toml:"rate" default:"5e-4" range:"(0,inf)" help:"learning rate"`
	Steps int     `toml:"max_steps" default:"1_000" range:"[0,inf)" help:"updates"`
	Kind  string  `toml:"kind" default:"adam" choice:"adam sgd" help:"optimizer"`
	Lag   bool    `toml:"lag" default:"true" help:"whether it lags"`
	inner
}

// inner has an embedded struct of its own.
type inner struct {
	deepest `task:"translation"`
}

type deepest struct {
	Drop float64 `toml:"drop" range:"[0,1)" help:"dropout"`
}

var schema = keys.New[toy]("")

// Keys come in the order of the fields, with the section and the tags of what they stand in where they have none
// themselves.
func TestKeys(t *testing.T) {
	var got []string
	for _, k := range schema.Keys() {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s (%s in %s) %s/%s/", k.Name, k.Base(), k.Section(), k.Task,
			k.Resume)+strings.Join(k.Kinds, "|")))
	}
	want := []string{
		"name (name in ) //",
		"data.longest (longest in data) translation/location/a|b",
		"data.ratio (ratio in data) translation/named/c",
		"data.dir (dir in data) language model/free/",
		"data.test (test in data) translation/free/",
		"train.rate (rate in train) //",
		"train.max_steps (max_steps in train) //",
		"train.kind (kind in train) //",
		"train.lag (lag in train) //",
		"train.drop (drop in train) translation//",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	drop, err := schema.Lookup("train.drop")
	if err != nil || !drop.Of("translation") || drop.Of("language model") || drop.Help != "dropout" {
		t.Errorf("train.drop is %+v, %v", drop, err)
	}
	if kind, err := schema.Lookup("train.kind"); err != nil || !kind.Of("translation") || !kind.Of("language model") ||
		!cmp.Equal(kind.Choices, []string{"adam", "sgd"}) {
		t.Errorf("train.kind is %+v, %v", kind, err)
	}
}

func TestDefaults(t *testing.T) {
	want := toy{
		Data:  data{limits: limits{Longest: 7, Ratio: 1.5}, Test: []string{"a", "b"}},
		Train: train{Rate: 5e-4, Steps: 1000, Kind: "adam", Lag: true},
	}
	got := schema.Defaults()
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(data{}, train{}, inner{})); diff != "" {
		t.Error(diff)
	}
	if err := schema.Check(&got); err != nil {
		t.Error(err)
	}
}

// A struct that a section of another configuration embeds has a schema of its own too, whose names are those of the
// whole.
func TestPrefix(t *testing.T) {
	s := keys.New[train]("train")
	var names []string
	for _, k := range s.Keys() {
		names = append(names, k.Name)
	}
	if diff := cmp.Diff([]string{"train.rate", "train.max_steps", "train.kind", "train.lag", "train.drop"}, names); diff != "" {
		t.Error(diff)
	}
	c := s.Defaults()
	c.Rate = 0
	if err := s.Check(&c); err == nil || err.Error() != "train.rate = 0.0 is out of range: it wants a number above 0" {
		t.Errorf("a rate of 0 gave %v", err)
	}
}

// A slip in a tag panics where the schema is made, and the text names the key.
func TestSlipsPanic(t *testing.T) {
	for name, test := range map[string]struct {
		make func()
		says []string
	}{
		"no help": {func() {
			keys.New[struct {
				A int `toml:"a"`
			}]("s")
		}, []string{"s.a", "help"}},
		"two keys of one name": {func() {
			keys.New[struct {
				deepest
				Again float64 `toml:"drop" help:"once more"`
			}]("s")
		}, []string{"s.drop", "two places"}},
		"default of another kind": {func() {
			keys.New[struct {
				A int `toml:"a" default:"many" help:"a number"`
			}]("s")
		}, []string{"default of s.a", `the text "many"`}},
		"default out of range": {func() {
			keys.New[struct {
				A int `toml:"a" default:"3" range:"[0,3)" help:"a number"`
			}]("s")
		}, []string{"default of s.a", "s.a = 3 is out of range"}},
		"default that is no choice": {func() {
			keys.New[struct {
				A string `toml:"a" default:"blue" choice:"red green" help:"a colour"`
			}]("s")
		}, []string{"default of s.a", "one of red, green"}},
		"no default, and zero is out of range": {func() {
			keys.New[struct {
				A float64 `toml:"a" range:"(0,inf)" help:"a number"`
			}]("s")
		}, []string{"default of s.a", "above 0"}},
		"malformed range": {func() {
			keys.New[struct {
				A int `toml:"a" default:"1" range:"[0;3]" help:"a number"`
			}]("s")
		}, []string{"default of s.a"}},
		"malformed range without a default": {func() {
			keys.New[struct {
				A int `toml:"a" range:"0" help:"a number"`
			}]("s")
		}, []string{"default of s.a"}},
		"a kind that no key has": {func() {
			keys.New[struct {
				A int64 `toml:"a" help:"a number"`
			}]("s")
		}, []string{"s.a", "int64"}},
		"a list of numbers": {func() {
			keys.New[struct {
				A []int `toml:"a" help:"numbers"`
			}]("s")
		}, []string{"s.a", "[]int"}},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				text := fmt.Sprint(recover())
				for _, part := range test.says {
					if !strings.Contains(text, part) {
						t.Errorf("it panics with %s, which lacks %q", text, part)
					}
				}
			}()
			test.make()
		})
	}
}
