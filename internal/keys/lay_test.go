package keys_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/internal/keys"
)

// lay lays a text over the defaults.
func lay(text string, others bool) (toy, []string, error) {
	c := schema.Defaults()
	tree, err := keys.Parse(text, "f.toml")
	if err != nil {
		return c, nil, err
	}
	given, err := schema.Lay(&c, tree, "f.toml", others)
	return c, given, err
}

func TestLay(t *testing.T) {
	c, given, err := lay("name = \"x\"\n[train]\nrate = 2\nlag = false\n[data]\ntest = [\"c\"]\nlongest = 9\n", false)
	if err != nil {
		t.Fatal(err)
	}
	want := schema.Defaults()
	want.Name, want.Train.Rate, want.Train.Lag, want.Data.Test, want.Data.Longest = "x", 2, false, []string{"c"}, 9
	if diff := cmp.Diff(want, c, cmp.AllowUnexported(data{}, train{}, inner{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"name", "data.longest", "data.test", "train.rate", "train.lag"}, given); diff != "" {
		t.Errorf("the keys given, in the order of the schema:\n%s", diff)
	}
	if c, given, err := lay("", false); err != nil || given != nil || c.Train.Rate != 5e-4 {
		t.Errorf("an empty text gave %v, %v, %v", c, given, err)
	}
}

// A text with what is no key is refused, with the nearest name; laid for one of several readers, it is not.
func TestLayUnknown(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"[train]\nrat = 1.0", "f.toml: unknown key train.rat: did you mean train.rate?"},
		{"[train]\nMax_Steps = 1", "f.toml: unknown key train.Max_Steps: did you mean train.max_steps?"},
		{"[data]\nmax_steps = 3", "f.toml: unknown key data.max_steps: did you mean train.max_steps?"},
		{"max_steps = 3", "f.toml: unknown key max_steps: did you mean train.max_steps?"},
		{"[trian]\nlag = true", "f.toml: unknown section [trian]: did you mean [train]?"},
		{"Hidden = 3", "f.toml: unknown key Hidden: did you mean train.kind?"}, // a field without a tag
		{"Note = \"\"", "f.toml: unknown key Note: did you mean train.rate?"},  // one whose tag is a dash
		{"[train.inner]\ndrop = 0.1", "f.toml: unknown key train.inner: did you mean train.rate?"},
		{"[train]\nb = 1\na = 2", "f.toml: unknown key train.a: did you mean train.lag?"}, // the same one each time
	} {
		if _, _, err := lay(test.text, false); err == nil || err.Error() != test.want {
			t.Errorf("%q gave %v, want %s", test.text, err, test.want)
		}
		if _, _, err := lay(test.text, true); err != nil {
			t.Errorf("%q, which another may read, gave %v", test.text, err)
		}
	}
}

// Values are checked whoever reads.
func TestLayErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"train = 3", "f.toml: train wants a section [train], not the whole number 3"},
		{"name = 1", "f.toml: name wants a text in quotes, not the whole number 1"},
		{"[name]\nx = 1", "f.toml: name wants a text in quotes, not a section"},
		{"[data]\ntest = \"a\"", `f.toml: data.test wants a list of texts such as ["a", "b"], not the text "a"`},
		{"[data]\ntest = [1]", `f.toml: data.test wants a list of texts such as ["a", "b"], not a list`},
		{"[data]\ndir = true", "f.toml: data.dir wants a text in quotes, not true"},
		{"[train]\nlag = 1", "f.toml: train.lag wants true or false, not the whole number 1"},
		{"[train]\nmax_steps = \"many\"", `f.toml: train.max_steps wants a whole number of at least 0, not the text "many"`},
		{"[train]\nmax_steps = 1.5", "f.toml: train.max_steps wants a whole number of at least 0, not the number 1.5"},
		{"[train]\nrate = 0", "f.toml: train.rate = 0.0 is out of range: it wants a number above 0"},
		{"[train]\nrate = nan", "f.toml: train.rate = nan is out of range: it wants a number above 0"},
		{"[train]\nrate = inf", "f.toml: train.rate = +inf is out of range: it wants a number above 0"},
		// the schema's first
		{"[train]\nkind = \"adma\"\n[data]\nratio = 0",
			"f.toml: data.ratio = 0.0 is out of range: it wants a number from 1 to 10"},
	} {
		for _, others := range []bool{false, true} {
			if _, _, err := lay(test.text, others); err == nil || err.Error() != test.want {
				t.Errorf("%q gave %v, want %s", test.text, err, test.want)
			}
		}
	}
}

// What is no TOML is reported with its file and line, in one line.
func TestSyntaxErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"[data]\ndir = \n", "f.toml: line 2: expected value but found '\\n' instead"},
		{"[train]\nlag = true\nlag = false", "f.toml: line 3: Key 'train.lag' has already been defined."},
		{"\n\n[train]]\n", "f.toml: line 3: "},
		{"name = 'x\n'", "f.toml: line 1: "},
	} {
		_, _, err := lay(test.text, true)
		if err == nil || !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q gave %v, want %s", test.text, err, test.want)
		}
	}
}

// TestDecode reads lists of tables, and refuses what the value has no place for.
func TestDecode(t *testing.T) {
	type list struct {
		Parts []struct {
			Name  string             `toml:"name"`
			Sizes map[string]float64 `toml:"sizes"`
		} `toml:"part"`
	}
	var read list
	if err := keys.Decode("[[part]]\nname = \"a\"\n[[part]]\nsizes = {x = 1.5}\n", "f.toml", &read); err != nil ||
		len(read.Parts) != 2 || read.Parts[0].Name != "a" || read.Parts[1].Sizes["x"] != 1.5 {
		t.Errorf("%v, %v", read, err)
	}
	for text, want := range map[string]string{
		"[[part]\n":                       "f.toml: line 2: ",
		"[[part]]\nname = 1\n":            "f.toml: ",
		"[[part]]\nnam = \"a\"\n":         "f.toml: unknown key part.nam: remove it",
		"x = " + strings.Repeat("[", 100): "f.toml: line 1: brackets",
	} {
		if err := keys.Decode(text, "f.toml", &list{}); err == nil || !strings.HasPrefix(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%q gives %v, want %s", text, err, want)
		}
	}
}

func TestReadFolder(t *testing.T) {
	folder := t.TempDir()
	if _, err := keys.ReadFolder(folder); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), folder+" holds no run") {
		t.Errorf("an empty folder gave %v", err)
	}
	path := filepath.Join(folder, keys.File)
	if err := os.WriteFile(path, []byte("[train]\nrate = 3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	tree, err := keys.ReadFolder(folder)
	if err != nil || tree["train"].(map[string]any)["rate"] != int64(3) {
		t.Errorf("it reads %v, %v", tree, err)
	}
	if err := os.WriteFile(path, []byte("[train"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := keys.ReadFolder(folder); err == nil || !strings.HasPrefix(err.Error(), path+": line 1: ") {
		t.Errorf("a file that is cut off gave %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := keys.ReadFolder(folder); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder in the file's place gave %v", err)
	}
}
