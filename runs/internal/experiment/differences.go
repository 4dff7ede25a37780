package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// TOML is the configuration as text, every key that its task reads with a comment that says what it means, what it may be and
// its default: a file that -config takes and that gives the same run.
func (c Config) TOML() string {
	return fmt.Sprintf("# The resolved configuration of this run: go run ./runs/%s -config FILE -out FOLDER repeats it.\n%s", c.Run, schema.Print(&c, string(c.Task())))
}

// Hash returns a SHA-256, in hex, over all keys that a resumed run may not change.
func (c Config) Hash() string {
	sum := sha256.New()
	for _, k := range schema.Keys() {
		if k.Resume == "" {
			fmt.Fprintf(sum, "%s = %s\n", k.Name, schema.Value(&c, k))
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Difference is a key whose value differs between two configurations.
type Difference struct {
	Key      string // dotted name, as in "train.steps"
	Old, New string // values as TOML
	Allowed  bool   // whether a resumed run may take the new value
	ByName   bool   // whether it may only where a user asked for it by hand
}

func (d Difference) String() string { return fmt.Sprintf("%s from %s to %s", d.Key, d.Old, d.New) }

// Differences lists the keys whose values differ, in the order of Config, and says which of them a run started with old
// and resumed with next may change.
func Differences(old, next Config) []Difference {
	var all []Difference
	for _, k := range schema.Keys() {
		before, after := schema.Value(&old, k), schema.Value(&next, k)
		if before == after {
			continue
		}
		d := Difference{Key: k.Name, Old: before, New: after}
		switch k.Resume {
		case "free":
			d.Allowed = true
		case "named":
			d.Allowed, d.ByName = true, true
		case "location":
			d.Allowed = before != `""` && after != `""` // elsewhere, but neither gone nor new
		}
		all = append(all, d)
	}
	return all
}
