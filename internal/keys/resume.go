package keys

import "fmt"

// decides reports whether a key decides what a run of the task finds: a resumed run may not change it, or may only find
// its files elsewhere.
func (k Key) decides(task string) bool {
	return k.Of(task) && (k.Resume == "" || k.Resume == "location")
}

// Kept are the keys that decide what a run of the task finds, by name, with their values as TOML, for its checkpoints.
func (s *Schema[C]) Kept(c *C, task string) map[string]string {
	kept := map[string]string{}
	for _, k := range s.keys {
		if k.decides(task) {
			kept[k.Name] = s.Value(c, k)
		}
	}
	return kept
}

// Changed is the first key of the task whose value a run that kept these could not have taken. A key that is newer than
// what was kept had its default then. Where kept is nil, from an earlier version, nothing is known.
func (s *Schema[C]) Changed(c *C, task string, kept map[string]string) (d Difference, changed bool) {
	for _, k := range s.keys {
		if kept == nil || !k.decides(task) {
			continue
		}
		was, known := kept[k.Name]
		if !known {
			was = s.Value(&s.defaults, k)
		}
		if d, differs := k.difference(was, s.Value(c, k)); differs && !d.Allowed {
			return d, true
		}
	}
	return Difference{}, false
}

// Difference is a key whose value differs between two configurations.
type Difference struct {
	Key      string // dotted name, as in "train.steps"
	Old, New string // values as TOML
	Allowed  bool   // whether a resumed run may take the new value
	ByName   bool   // whether it may only where a user asked for it by hand
}

func (d Difference) String() string { return fmt.Sprintf("%s from %s to %s", d.Key, d.Old, d.New) }

// Differences lists the keys whose values differ, in the order of the fields.
func (s *Schema[C]) Differences(old, next *C) []Difference {
	var all []Difference
	for _, k := range s.keys {
		if d, differs := k.difference(s.Value(old, k), s.Value(next, k)); differs {
			all = append(all, d)
		}
	}
	return all
}

// difference compares a key's values, as TOML.
func (k Key) difference(before, after string) (d Difference, differs bool) {
	d = Difference{Key: k.Name, Old: before, New: after}
	switch k.Resume {
	case "free":
		d.Allowed = true
	case "named":
		d.Allowed, d.ByName = true, true
	case "location":
		d.Allowed = before != `""` && after != `""` // elsewhere, but neither gone nor new
	}
	return d, before != after
}
