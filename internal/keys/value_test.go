package keys_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/internal/keys"
)

// kinds has a key of each kind, and the ranges that sentences must tell apart.
type kinds struct {
	Text    string   `toml:"text" help:"a text"`
	Choice  string   `toml:"choice" default:"red" choice:"red green blue" help:"a colour"`
	List    []string `toml:"list" help:"texts"`
	Flag    bool     `toml:"flag" help:"yes or no"`
	Whole   int      `toml:"whole" help:"a whole number"`
	Least   int      `toml:"least" range:"[0,inf)" help:"a whole number"`
	Between int      `toml:"between" default:"1" range:"[1,1024]" help:"a whole number"`
	Real    float64  `toml:"real" help:"a number"`
	Above   float64  `toml:"above" default:"1" range:"(0,inf)" help:"a number"`
	Half    float64  `toml:"half" range:"[0,1)" help:"a number"`
	Most    float64  `toml:"most" default:"1" range:"(0,1]" help:"a number"`
	Signed  float64  `toml:"signed" range:"[-10,10]" help:"a number"`
	Finite  float64  `toml:"finite" range:"(-inf,inf)" help:"a number"`
}

var ofKinds = keys.New[kinds]("k")

// Set takes values as a command line gives them: texts without quotes, lists by commas, numbers with underscores.
func TestSet(t *testing.T) {
	c := ofKinds.Defaults()
	for _, assignment := range []string{
		"text=as it is", "choice=green", "list=a, b,,c", "flag=true", "whole=-2_000", "least=+3", "between=1024",
		"real=1", "above=3e-4", "half=0", "most=1", "signed=-10",
	} {
		name, value, _ := strings.Cut(assignment, "=")
		if err := ofKinds.Set(&c, "k."+name, value); err != nil {
			t.Errorf("%s: %v", assignment, err)
		}
	}
	want := kinds{
		Text: "as it is", Choice: "green", List: []string{"a", "b", "c"}, Flag: true, Whole: -2000, Least: 3,
		Between: 1024,
		Real:    1, Above: 3e-4, Half: 0, Most: 1, Signed: -10,
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
	for _, test := range []struct {
		name, value, want string
	}{
		{"k.text", `"with \"quotes\""`, `"with \"quotes\""`},
		{"k.text", `"no end`, `"\"no end"`},
		{"k.text", "", `""`},
		{"k.text", "12", `"12"`},
		{"k.list", `["x, y", "z"]`, `["x, y", "z"]`},
		{"k.list", "", "[]"},
		{"k.flag", "0", "false"},
		{"k.real", "1_000", "1000.0"},
	} {
		if err := ofKinds.Set(&c, test.name, test.value); err != nil {
			t.Errorf("%s=%s: %v", test.name, test.value, err)
		}
		k, err := ofKinds.Lookup(test.name)
		if err != nil {
			t.Fatal(err)
		}
		if got := ofKinds.Value(&c, k); got != test.want {
			t.Errorf("%s=%s gave %s, want %s", test.name, test.value, got, test.want)
		}
	}
}

// What a key cannot be is reported with what it wants and what was given.
func TestSetErrors(t *testing.T) {
	for _, test := range []struct{ name, value, want string }{
		{"k.least", "ten", `k.least wants a whole number of at least 0, not the text "ten"`},
		{"k.least", "", `k.least wants a whole number of at least 0, not the text ""`},
		{"k.finite", "nan", `k.finite = nan is out of range: it wants a number that is finite`},
		{"k.least", "1.5", "k.least wants a whole number of at least 0, not the number 1.5"},
		{"k.least", "-1", "k.least = -1 is out of range: it wants a whole number of at least 0"},
		{"k.whole", "1e3", "k.whole wants a whole number, not the number 1000"},
		{"k.between", "0", "k.between = 0 is out of range: it wants a whole number from 1 to 1024"},
		{"k.between", "1025", "k.between = 1025 is out of range: it wants a whole number from 1 to 1024"},
		{"k.above", "0", "k.above = 0.0 is out of range: it wants a number above 0"},
		{"k.above", "inf", "k.above = +inf is out of range: it wants a number above 0"},
		{"k.above", "nan", "k.above = nan is out of range: it wants a number above 0"},
		{"k.half", "1", "k.half = 1.0 is out of range: it wants a number of at least 0 and below 1"},
		{"k.most", "0", "k.most = 0.0 is out of range: it wants a number above 0 and at most 1"},
		{"k.most", "1.01", "k.most = 1.01 is out of range: it wants a number above 0 and at most 1"},
		{"k.signed", "-10.5", "k.signed = -10.5 is out of range: it wants a number from -10 to 10"},
		{"k.real", "inf", "k.real = +inf is out of range: it wants a number"},
		{"k.real", "true", `k.real wants a number, not the text "true"`},
		{"k.choice", "rde", `k.choice = "rde" is out of range: it wants one of red, green, blue`},
		{"k.flag", "maybe", `k.flag wants true or false, not the text "maybe"`},
		{"k.list", "[1]", `k.list wants a list of texts such as ["a", "b"], not a list`},
		{"k.list", "[a", `k.list wants a list of texts such as ["a", "b"], not the text "[a"`},
		{"k.last", "1", "unknown key k.last: did you mean k.list?"},
	} {
		c := ofKinds.Defaults()
		if err := ofKinds.Set(&c, test.name, test.value); err == nil || err.Error() != test.want {
			t.Errorf("%s=%s gave %v, want %s", test.name, test.value, err, test.want)
		}
	}
}

// Check looks at values that code has set, past Set.
func TestCheck(t *testing.T) {
	for name, change := range map[string]func(*kinds){
		"k.real":    func(c *kinds) { c.Real = math.NaN() },
		"k.above":   func(c *kinds) { c.Above = math.Inf(1) },
		"k.between": func(c *kinds) { c.Between = 0 },
		"k.choice":  func(c *kinds) { c.Choice = "" },
	} {
		c := ofKinds.Defaults()
		if err := ofKinds.Check(&c); err != nil {
			t.Fatal(err)
		}
		change(&c)
		if err := ofKinds.Check(&c); err == nil || !strings.HasPrefix(err.Error(), name+" = ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The nearest name is the one with the fewest edits, and a key of the right name in another section is near.
func TestNearest(t *testing.T) {
	names := []string{"train.steps", "train.learning_rate", "model.width", "data.train", "objective.method"}
	for name, want := range map[string]string{
		"train.step":          "train.steps",
		"model.steps":         "train.steps",
		"steps":               "train.steps",
		"Train.Learning_Rate": "train.learning_rate",
		"widht":               "model.width",
		"train":               "data.train",
	} {
		if got := keys.Nearest(name, names); got != want {
			t.Errorf("%s is nearest to %s, want %s", name, got, want)
		}
	}
	if got := keys.Nearest("anything", nil); got != "" {
		t.Errorf("without candidates it gives %q", got)
	}
}
