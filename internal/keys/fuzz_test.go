package keys

import (
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// FuzzConfig reads TOML over a configuration: an error names the file, and what is taken over is within its range and
// comes back from what Print writes.
func FuzzConfig(f *testing.F) {
	type config struct {
		Train struct {
			Rate  float64  `toml:"rate" default:"0.1" range:"(0,1]" help:"a rate"`
			Steps int      `toml:"steps" default:"3" range:"[0,1000]" help:"steps"`
			Kind  string   `toml:"kind" default:"a" choice:"a b" help:"a kind"`
			Names []string `toml:"names" default:"[]" help:"names"`
			Path  string   `toml:"path" default:"" path:"file" help:"a file"`
			On    bool     `toml:"on" default:"false" help:"a switch"`
		} `toml:"train"`
	}
	schema := New[config]("")
	for _, text := range []string{
		"[train]\nrate = 0.5\nsteps = 7\nkind = \"b\"\nnames = [\"x\", \"y\"]\non = true\n", "train.rate = 1\n", "[train]\nrate = nan\n",
		"[train]\nrate = 1e400\n", "[train]\nsteps = 9223372036854775808\n", "[train]\nnames = [1]\n", "[train]\nx = 1\n",
		"[other]\n", "train = 3\n", "[[train]]\n", "[train]\npath = \"\\u0000\\u001b[2J\"\n", "a.b.c = 1979-05-27T07:32:00Z\n",
		"x = " + strings.Repeat("[", 300), "x = " + strings.Repeat("{a=", 300), strings.Repeat("a.", 300) + "a = 1\n", "\xff",
		"[train]\nkind = '''\nb'''\n", "[train]\nkind = \"a\\\n b\"\n", "[\"tr\\nain\"]\n", "\"ra\\u001bte\" = 1\n",
		"x = " + strings.Repeat("D", 1600), "[train]\nkind = \"" + strings.Repeat("D", 1600) + "\"\n",
		"[train]\nsteps = '" + strings.Repeat("\U000e0001", 300) + "'\n", "train." + strings.Repeat("D", 1600) + " = 1\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fixtures.Promise(t, 20*len(text), func() error { return Decode(text, "x.toml", &config{}) })
		c := schema.Defaults()
		if fixtures.Promise(t, 20*len(text), func() error {
			tree, err := Parse(text, "x.toml")
			if err != nil {
				return err
			}
			if _, err := schema.Lay(&c, tree, "x.toml", false); err != nil {
				return err
			}
			return schema.Check(&c)
		}) != nil {
			return
		}
		var b strings.Builder
		for _, k := range schema.Keys() {
			b.WriteString(k.Name + " = " + schema.Value(&c, k) + "\n")
		}
		again := schema.Defaults()
		tree, err := Parse(b.String(), "again")
		if err == nil {
			_, err = schema.Lay(&again, tree, "again", false)
		}
		if err != nil {
			t.Fatalf("%q was written, and is refused: %v", b.String(), err)
		}
		for _, k := range schema.Keys() {
			if schema.Value(&c, k) != schema.Value(&again, k) {
				t.Errorf("%s = %s is read as %s", k.Name, schema.Value(&c, k), schema.Value(&again, k))
			}
		}
	})
}

// TestTooDeep knows comments and strings from brackets.
func TestTooDeep(t *testing.T) {
	for text, want := range map[string]int{
		strings.Repeat("x = 1 # of [0,inf)\n", 100):                           0,
		"x = \"" + strings.Repeat("[.", 50) + "\"\n":                          0,
		"x = '" + strings.Repeat("[.", 50) + "'\n":                            0,
		"x = \"\"\"\n\"" + strings.Repeat("[.", 50) + "\"\"\"\n":              0,
		"a = 1\nx = [\"\\\"#\", " + strings.Repeat("[", 20):                   2,
		"a = '#'\nb = \"\n" + strings.Repeat("a.", 20) + "a = 1 ":             3,
		strings.Repeat("x = [[1, 2], [3.5, 4.5]] # two. words. of. it\n", 20): 0,
	} {
		if got := tooDeep(text); got != want {
			t.Errorf("%q is too deep on line %d, want %d", text, got, want)
		}
	}
}

// TestDeepConfig: brackets in brackets use up no stack, and long texts little time.
func TestDeepConfig(t *testing.T) {
	for name, text := range map[string]string{
		"arrays": "x = " + strings.Repeat("[", maxText/2), "tables": "x = " + strings.Repeat("{a=", maxText/4),
		"dotted keys": strings.Repeat("a.", maxText/4) + "a = 1\n", "a long text": "x = 1 #" + strings.Repeat("x", maxText),
		"headers": strings.Repeat("[a.b.c.d]\n", 10), "a header": "[" + strings.Repeat("a.", maxText/4) + "a]\n",
	} {
		fixtures.Promise(t, 1000*len(text), func() error {
			_, err := Parse(text, name)
			if err == nil && name != "dotted keys" && name != "a header" {
				t.Errorf("%s went through", name)
			}
			return err
		})
	}
}
