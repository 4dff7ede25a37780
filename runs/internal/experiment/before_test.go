package experiment

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/keys"
)

// before is a preset as it was while presets gave every key, under the name that it had then.
type before struct {
	Preset string         `json:"preset"` // "ptb/awd-lstm"
	Keys   map[string]any `json:"keys"`   // all that its task read
}

// home is where a preset of then is now.
func home(preset string, renamed map[string]string, removed map[string][2]string) (name, method string) {
	if control, gone := removed[preset]; gone {
		return control[0], control[1]
	}
	if name, other := renamed[preset]; other {
		return name, ""
	}
	return preset, ""
}

// TestPresetsResolveAsBefore: every preset resolves, key by key, to what it was while each file gave all keys.
// testdata/presets.jsonl holds that; renamed.json says what is called otherwise now, and removed.json which presets
// differed from another in the method alone, so that they are that one now, with -method. Two differences are allowed:
// those that exceptions.json gives a reason for, and how the polynomial prior is asked for. Presets that were removed
// asked for it by -method=spectrum with objective.prior = "polynomial", or named spectrum-poly, which has that prior
// whatever objective.prior says; the method is always spectrum-poly now.
//
// Keys that are newer than the list are not compared. A preset that is meant to change changes its line in
// presets.jsonl.
func TestPresetsResolveAsBefore(t *testing.T) {
	var renamed map[string]string
	var removed map[string][2]string
	var exceptions map[string]map[string]string // preset of now -> key -> reason
	readJSON(t, "renamed.json", &renamed)
	readJSON(t, "removed.json", &removed)
	readJSON(t, "exceptions.json", &exceptions)
	specs, seen, unused := describe(t), map[string]bool{}, map[string]bool{}
	for name, reasons := range exceptions {
		for key, reason := range reasons {
			if unused[name+" "+key] = true; reason == "" {
				t.Errorf("exceptions.json gives no reason for %s of %s", key, name)
			}
		}
	}
	for _, old := range readBefore(t) {
		seen[old.Preset] = true
		name, method := home(old.Preset, renamed, removed)
		run, preset, _ := strings.Cut(name, "/")
		if specs[run] == nil {
			t.Errorf("%s: there is no runs/%s", old.Preset, run)
			continue
		}
		_, c, err := resolve(specs[run], preset)
		if err != nil {
			t.Errorf("%s: %v", old.Preset, err)
			continue
		}
		if method != "" {
			if c.Objective.Method == method {
				t.Errorf("%s: runs/%s has method %s already: it is renamed rather than removed", old.Preset, name,
					method)
			}
			c.Objective.Method = method
			namePrior(old.Keys)
		}
		for _, d := range changes(t, old.Keys, &c) {
			if _, allowed := exceptions[name][d.key]; allowed {
				delete(unused, name+" "+d.key)
				continue
			}
			if method != "" && d.key == "objective.prior" && strings.Contains(method, "spectrum-poly") &&
				old.Keys[d.key] == "polynomial" {
				continue
			}
			t.Errorf("%s: %s was %v and is %v in runs/%s", old.Preset, d.key, d.was, d.is, name)
		}
	}
	if len(seen) != 64 {
		t.Errorf("presets.jsonl has %d presets", len(seen))
	}
	for name := range maps.Keys(renamed) {
		if !seen[name] {
			t.Errorf("renamed.json names %s, which presets.jsonl does not have", name)
		}
	}
	for name := range maps.Keys(removed) {
		if !seen[name] {
			t.Errorf("removed.json names %s, which presets.jsonl does not have", name)
		}
	}
	for exception := range unused {
		t.Errorf("%s is an exception without need: nothing differs there", exception)
	}
}

// namePrior says of an old preset with the polynomial prior what is said now: that its method is spectrum-poly.
func namePrior(old map[string]any) {
	names := strings.Split(old["objective.method"].(string), "+")
	if i := slices.Index(names, "spectrum"); i >= 0 && old["objective.prior"] == "polynomial" {
		names[i] = "spectrum-poly"
	}
	old["objective.method"] = strings.Join(names, "+")
}

// change is a key with another value than before.
type change struct {
	key     string
	was, is any
}

// changes lists the keys of then that a configuration gives another value, or has no more.
func changes(t *testing.T, old map[string]any, c *Config) (all []change) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(old)) {
		k, err := schema.Lookup(name)
		if err != nil {
			all = append(all, change{name, old[name], err})
			continue
		}
		if is := plainValue(t, schema.Value(c, k)); !reflect.DeepEqual(is, old[name]) {
			all = append(all, change{name, old[name], is})
		}
	}
	return all
}

// plainValue reads a TOML value as encoding/json would: all numbers are float64.
func plainValue(t *testing.T, text string) any {
	t.Helper()
	tree, err := keys.Parse("value = "+text, text)
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := tree["value"].(int64); ok {
		return float64(n)
	}
	return tree["value"]
}

// The comparison sees each single key: one that is changed is named, and no other.
func TestChangesAreSeen(t *testing.T) {
	for _, name := range []string{"wmt14/base", "ptb/awd-lstm"} {
		all := readBefore(t)
		old := all[slices.IndexFunc(all, func(one before) bool { return one.Preset == name })]
		run, preset, _ := strings.Cut(name, "/")
		_, c, err := resolve(describe(t)[run], preset)
		if err != nil {
			t.Fatal(err)
		}
		if d := changes(t, old.Keys, &c); len(d) != 0 {
			t.Errorf("%s differs from itself: %v", name, d)
		}
		for name, was := range old.Keys {
			other := c
			setAnother(t, &other, name, was)
			if d := changes(t, old.Keys, &other); len(d) != 1 || d[0].key != name {
				t.Errorf("another value of %s than %v gives %v", name, was, d)
			}
		}
	}
}

// setAnother gives a key a value that it may have and does not have.
func setAnother(t *testing.T, c *Config, name string, was any) {
	t.Helper()
	k, err := schema.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	values := slices.DeleteFunc(slices.Clone(k.Choices), func(choice string) bool { return choice == was })
	switch was := was.(type) {
	case float64:
		if values = []string{fmt.Sprint(was + 1), fmt.Sprint(was / 2)}; was == 0 {
			values[1] = "0.5"
		}
	case bool:
		values = []string{fmt.Sprint(!was)}
	default:
		values = append(values, "elsewhere")
	}
	for _, value := range values {
		if err = schema.Set(c, name, value); err == nil {
			return
		}
	}
	t.Fatal(err)
}

// readBefore reads the presets of then.
func readBefore(t *testing.T) (all []before) {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", "presets.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var one before
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil || one.Preset == "" || len(one.Keys) < 80 {
			t.Fatalf("%s with %d keys: %v", one.Preset, len(one.Keys), err)
		}
		all = append(all, one)
	}
	return all
}

func readJSON(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
