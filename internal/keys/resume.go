package keys

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Hash returns a SHA-256, in hex, over all keys that a resumed run may not change.
func (s *Schema[C]) Hash(c *C) string {
	sum := sha256.New()
	for _, k := range s.keys {
		if k.Resume == "" {
			fmt.Fprintf(sum, "%s = %s\n", k.Name, s.Value(c, k))
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

// Differences lists the keys whose values differ, in the order of the fields, and says which of them a run started with old
// and resumed with next may change.
func (s *Schema[C]) Differences(old, next *C) []Difference {
	var all []Difference
	for _, k := range s.keys {
		before, after := s.Value(old, k), s.Value(next, k)
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
