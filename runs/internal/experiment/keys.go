package experiment

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"
)

// key is one key of Config: its dotted name, where its field is, and what the field's tags say.
type key struct {
	name                    string
	index                   []int
	choices                 []string
	limits                  *interval
	byDefault, resume, help string
	task                    Task // the only one that reads it; empty: all
}

// keys lists every key of Config in the order of its fields.
var keys = sync.OnceValue(func() []key {
	var all []key
	var walk func(t reflect.Type, prefix string, index []int)
	walk = func(t reflect.Type, prefix string, index []int) {
		for i := range t.NumField() {
			field := t.Field(i)
			name := prefix + field.Tag.Get("toml")
			at := append(slices.Clone(index), i)
			if field.Type.Kind() == reflect.Struct {
				walk(field.Type, name+".", at)
				continue
			}
			k := key{name: name, index: at, byDefault: field.Tag.Get("default"), resume: field.Tag.Get("resume"), help: field.Tag.Get("help"), task: Task(field.Tag.Get("task"))}
			k.choices = strings.Fields(field.Tag.Get("choice"))
			if limits, ok := field.Tag.Lookup("range"); ok {
				k.limits = parseInterval(limits)
			}
			all = append(all, k)
		}
	}
	walk(reflect.TypeFor[Config](), "", nil)
	return all
})

// of reports whether a task reads the key.
func (k key) of(t Task) bool { return k.task == "" || k.task == t }

// Default returns the configuration that every key's default makes.
func Default() Config {
	var c Config
	for _, k := range keys() {
		if k.byDefault == "" {
			continue
		}
		if err := k.setText(&c, k.byDefault); err != nil {
			panic(fmt.Sprintf("experiment: the default of %s: %v", k.name, err)) // a slip in config.go, which tests find
		}
	}
	return c
}

func (k key) field(c *Config) reflect.Value { return reflect.ValueOf(c).Elem().FieldByIndex(k.index) }

// section returns the part of the name before the dot, or "" for a key that stands above all sections.
func (k key) section() string {
	section, _, found := strings.Cut(k.name, ".")
	if !found {
		return ""
	}
	return section
}

func (k key) base() string { return k.name[strings.LastIndexByte(k.name, '.')+1:] }

// set stores a value as TOML gives it, and says what the key wants when it is of another type or out of range.
func (k key) set(c *Config, value any) error {
	field := k.field(c)
	wrongType := fmt.Errorf("%s wants %s, not %s", k.name, k.wants(), describe(value))
	switch field.Kind() {
	case reflect.Int:
		n, ok := value.(int64)
		if !ok {
			return wrongType
		}
		field.SetInt(n)
	case reflect.Float64:
		switch x := value.(type) {
		case int64:
			field.SetFloat(float64(x))
		case float64:
			field.SetFloat(x)
		default:
			return wrongType
		}
	case reflect.Bool:
		b, ok := value.(bool)
		if !ok {
			return wrongType
		}
		field.SetBool(b)
	case reflect.String:
		s, ok := value.(string)
		if !ok {
			return wrongType
		}
		field.SetString(s)
	case reflect.Slice:
		items, ok := value.([]any)
		if !ok {
			return wrongType
		}
		list := make([]string, len(items))
		for i, item := range items {
			if list[i], ok = item.(string); !ok {
				return wrongType
			}
		}
		field.Set(reflect.ValueOf(list))
	}
	return k.check(c)
}

// setText stores a value as a command line gives it: text needs no quotes, and a list may be parted by commas.
func (k key) setText(c *Config, text string) error {
	var value any
	switch k.field(c).Kind() {
	case reflect.String:
		value = text
		if strings.HasPrefix(text, `"`) {
			value = tomlValue(text)
		}
	case reflect.Slice:
		if strings.HasPrefix(text, "[") {
			value = tomlValue(text)
			break
		}
		list := []any{}
		for item := range strings.SplitSeq(text, ",") {
			if item = strings.TrimSpace(item); item != "" {
				list = append(list, item)
			}
		}
		value = list
	case reflect.Bool:
		value = text
		if b, err := strconv.ParseBool(text); err == nil {
			value = b
		}
	default:
		value = text
		if n, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64); err == nil {
			value = n
		} else if x, err := strconv.ParseFloat(text, 64); err == nil {
			value = x
		}
	}
	return k.set(c, value)
}

// tomlValue reads text as a TOML value, or returns it as it is where it is none.
func tomlValue(text string) any {
	var holder map[string]any
	if _, err := toml.Decode("value = "+text, &holder); err != nil {
		return text
	}
	return holder["value"]
}

// check reports a value outside the key's range or choices.
func (k key) check(c *Config) error {
	field := k.field(c)
	outside := false
	switch field.Kind() {
	case reflect.Int:
		outside = k.limits != nil && !k.limits.contains(float64(field.Int()))
	case reflect.Float64:
		x := field.Float()
		outside = math.IsNaN(x) || math.IsInf(x, 0) || k.limits != nil && !k.limits.contains(x)
	case reflect.String:
		outside = len(k.choices) > 0 && !slices.Contains(k.choices, field.String())
	}
	if outside {
		return fmt.Errorf("%s = %s is out of range: it wants %s", k.name, tomlText(field), k.wants())
	}
	return nil
}

// wants says in words what values the key takes.
func (k key) wants() string {
	var c Config
	kind := k.field(&c).Kind()
	switch {
	case len(k.choices) > 0:
		return "one of " + strings.Join(k.choices, ", ")
	case kind == reflect.Int:
		return strings.TrimSpace("a whole number " + k.limits.String())
	case kind == reflect.Float64:
		return strings.TrimSpace("a number " + k.limits.String())
	case kind == reflect.Bool:
		return "true or false"
	case kind == reflect.Slice:
		return `a list of texts such as ["a", "b"]`
	}
	return "a text in quotes"
}

// describe names a value read from TOML, with its type where that is what was wrong.
func describe(value any) string {
	switch x := value.(type) {
	case string:
		return "the text " + strconv.Quote(x)
	case int64:
		return "the whole number " + strconv.FormatInt(x, 10)
	case float64:
		return "the number " + strconv.FormatFloat(x, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(x)
	case []any:
		return "a list"
	case map[string]any:
		return "a section"
	}
	return fmt.Sprint(value)
}

// lookup finds a key by its dotted name; an unknown name gives an error with the nearest known one.
func lookup(name string) (key, error) {
	names := make([]string, 0, len(keys()))
	for _, k := range keys() {
		if k.name == name {
			return k, nil
		}
		names = append(names, k.name)
	}
	return key{}, fmt.Errorf("unknown key %s: did you mean %s?", name, Nearest(name, names))
}
