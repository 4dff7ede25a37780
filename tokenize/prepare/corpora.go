package prepare

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Setting is a choice that a corpus leaves: a flag of runs/prepare.
type Setting struct {
	Name, Default string
	Choices       []string // empty: see Help
	Help          string
}

// Corpus is a published corpus that can be prepared.
type Corpus struct {
	Name, Title string
	Settings    []Setting

	tokens string // what is counted as tokens, in words
	jobs   func(settings map[string]string) []*job
}

// Corpora returns the corpora that can be prepared.
func Corpora() []Corpus {
	return []Corpus{multi30k(), iwslt14(), iwslt16(), wmt14(), wmt16(), ptb(), wikitext("2"), wikitext("103")}
}

// Check says in one sentence what is wrong with the name of a corpus and its settings.
func Check(corpus string, settings map[string]string) error {
	_, _, err := choose(corpus, settings)
	return err
}

// choose returns a corpus, and its settings with those that are given in place of the defaults.
func choose(name string, given map[string]string) (*Corpus, map[string]string, error) {
	var names []string
	for _, c := range Corpora() {
		names = append(names, c.Name)
		if c.Name != name {
			continue
		}
		settings := map[string]string{}
		for _, s := range c.Settings {
			settings[s.Name] = s.Default
		}
		for _, key := range slices.Sorted(maps.Keys(given)) {
			i := slices.IndexFunc(c.Settings, func(s Setting) bool { return s.Name == key })
			if i < 0 {
				return nil, nil, fmt.Errorf("-%s is no setting of %s", key, name)
			}
			if choices := c.Settings[i].Choices; len(choices) > 0 && !slices.Contains(choices, given[key]) {
				return nil, nil, fmt.Errorf("-%s=%s: choose %s", key, given[key], strings.Join(choices, " or "))
			}
			settings[key] = given[key]
		}
		if err := checkLanguages(settings); err != nil {
			return nil, nil, err
		}
		return &c, settings, nil
	}
	return nil, nil, fmt.Errorf("there is no corpus %q here: choose %s", name, strings.Join(names, ", "))
}

// each makes a member of each language of a file whose name has %s for it.
func each(languages []string, from []download, names ...string) (sides []member) {
	for _, language := range languages {
		m := member{downloads: from}
		for _, name := range names {
			m.names = append(m.names, strings.ReplaceAll(name, "%s", language))
		}
		sides = append(sides, m)
	}
	return sides
}
