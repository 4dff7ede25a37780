package objectives

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/aperture-ml/aperture/internal/keys"
)

// Settings are the keys of the section objective: they name a method, and hold the constants of all methods. [Of] gives
// those of a method, and Set changes some. Settings are a value: a copy that is changed leaves the original alone.
type Settings struct {
	Method string `toml:"method" default:"mle" help:"the method, or several joined by a plus; -method=help prints them"`

	keys.Parts[constants]
}

// constants are the settings of all methods, in the order of their list.
type constants struct{}

// Structs gives each type of settings once: methods may share one.
func (constants) Structs() (all []any) {
	for _, m := range methods {
		for _, s := range m.Settings {
			if !holds(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

// holds reports whether a list of settings has some of that type.
func holds(list []any, of any) bool {
	return slices.ContainsFunc(list, func(x any) bool { return reflect.TypeOf(x) == reflect.TypeOf(of) })
}

// schema is made when it is first asked for: the list of methods that its keys come from is another variable of the
// package.
var schema = sync.OnceValue(func() *keys.Schema[Settings] { return keys.New[Settings]("objective") })

// Defaults are the settings of maximum likelihood, with the constants of the other methods as they train well under
// Adam.
func Defaults() Settings { return schema().Defaults() }

// Of gives the settings of type T, as a method's file declares them: Of[CosineSettings](s).Gamma.
func Of[T any](s Settings) T { return keys.Part[T](s.Parts) }

// Set gives keys of the section, by their names, values of their own types: s.Set("method", "mos",
// "mixture_components", 3). A name or a type that no key has is a mistake of the program, and panics. Whether the
// values make sense, Resolve says.
func (s *Settings) Set(namesAndValues ...any) {
	for i := 0; i < len(namesAndValues); i += 2 {
		if err := schema().Put(s, "objective."+namesAndValues[i].(string), namesAndValues[i+1]); err != nil {
			panic(err)
		}
	}
}

// Files are those that settings of the method name, by key as in "objective.vectors". A run opens them like its texts,
// and keeps their SHA-256 in results.json. A setting of another method is not read.
func (s Settings) Files() map[string]string {
	files := map[string]string{}
	for _, k := range schema().Keys() {
		if k.Path == "file" && s.Reads(k) && schema().Text(&s, k) != "" {
			files[k.Name] = schema().Text(&s, k)
		}
	}
	return files
}

// Reads reports whether a method of s reads a key of the section, which an unknown one does not. Methods that bring no
// likelihood have that of mle.
func (s Settings) Reads(k keys.Key) bool {
	own := false
	return k.Part == nil || slices.ContainsFunc(s.names(), func(name string) bool {
		m, known := method(name)
		if !known {
			return false
		}
		own = own || m.Build(s, false).Likelihood != nil
		return holds(m.Settings, k.Part)
	}) || !own && holds(mle.Settings, k.Part)
}

// check says which setting makes no sense, and what would.
func (s Settings) check() error {
	if err := schema().Check(&s); err != nil {
		return err
	}
	_, err := cutoffs(Of[AdaptiveSettings](s).AdaptiveCutoffs, math.MaxInt64)
	return err
}

// names are those that the method joins by a plus.
func (s Settings) names() []string { return strings.Split(s.Method, "+") }

// Simplified are the settings of a layer that scores as that of s does, and trains as simply as it can: without
// smoothing, dropout, perturbation, further terms of the loss and penalties of states, and with W as one parameter.
// [Output.Simplify] gives its weights.
func (s Settings) Simplified() Settings {
	left := slices.DeleteFunc(s.names(), func(name string) bool {
		m, known := method(name)
		if !known {
			return false
		}
		p := m.Build(s, false)
		if transforms(p.Terms) {
			return false // evaluation sees them
		}
		if _, is := p.Likelihood.(*Headless); is { // it scores as mle does without a bias
			s.Set("bias", false)
			return true
		}
		return p.Perturbation != nil || len(p.Terms)+len(p.States) > 0 || p.Embedding != nil && p.Likelihood == nil
	})
	s.Set("method", strings.Join(left, "+"), "label_smoothing", 0, "mixture_dropout", 0, "drill_dropout", 0)
	if len(left) == 0 {
		s.Method = mle.Name
	}
	return s
}
