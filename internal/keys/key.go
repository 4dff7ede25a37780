package keys

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// Key is one key: its dotted name and what its field's tags say.
type Key struct {
	Name    string   // as in "train.max_tokens"
	Task    string   // the only task that reads it; empty: all
	Kinds   []string // the only kinds of network that read it; empty: all of the task
	Resume  string   // whether a resumed run may change it: see Differences
	Init    string   // "keep" where a run that starts from the weights of another one has that run's value
	Help    string   // one sentence without its full stop
	Default string   // as text; empty is the zero value
	Choices []string // of a text, where it has some
	Path    string   // of a text that names a file or a folder: which of the two
	Part    any      // of a key of [Parts]: the struct, as the list has it

	index  []int // of the field, or of the Parts that hold it
	part   int   // which of the parts, from 1; 0 for a field of the struct itself
	inner  []int // the field's index in the part
	kind   reflect.Kind
	limits *interval
}

// Of reports whether a task reads the key.
func (k Key) Of(task string) bool { return k.Task == "" || k.Task == task }

// Section is the part of the name before the last dot, "" for a key that stands above all sections.
func (k Key) Section() string {
	if i := strings.LastIndexByte(k.Name, '.'); i >= 0 {
		return k.Name[:i]
	}
	return ""
}

// Base is the name within the section.
func (k Key) Base() string { return k.Name[strings.LastIndexByte(k.Name, '.')+1:] }

// field is the key's field, to be read.
func (k Key) field(of reflect.Value) reflect.Value {
	field := of.FieldByIndex(k.index)
	if k.part == 0 {
		return field
	}
	return field.Interface().(parted).at(k.part - 1).FieldByIndex(k.inner)
}

// changed is the key's field, to be changed.
func (k Key) changed(in reflect.Value) reflect.Value {
	field := in.FieldByIndex(k.index)
	if k.part == 0 {
		return field
	}
	return field.Addr().Interface().(changing).own(k.part - 1).FieldByIndex(k.inner)
}

// set stores a value as TOML or Go gives it, and says what the key wants when it is of another type or out of range.
func (k Key) set(in reflect.Value, value any) error {
	if err := k.put(in, value); err != nil {
		return err
	}
	return k.check(in)
}

// put stores a value of the key's type, whatever its range. A whole number is a number too.
func (k Key) put(in reflect.Value, value any) error {
	given, field := reflect.ValueOf(value), k.changed(in)
	if items, ok := value.([]any); ok {
		list := make([]string, len(items))
		for i, item := range items {
			text, isText := item.(string)
			list[i], ok = text, ok && isText
		}
		if ok {
			given = reflect.ValueOf(list)
		}
	}
	number := given.CanInt() && (k.kind == reflect.Int || k.kind == reflect.Float64)
	if !number && (!given.IsValid() || given.Type() != field.Type()) {
		return fmt.Errorf("%s wants %s, not %s", k.Name, k.Wants(), describe(value))
	}
	field.Set(given.Convert(field.Type()))
	return nil
}

// parse reads a value as a command line gives it: text needs no quotes, and commas may separate a list. It returns what
// cannot be a value of the key's kind as it is, for set to refuse.
func (k Key) parse(text string) any {
	switch k.kind {
	case reflect.String:
		if strings.HasPrefix(text, `"`) {
			return tomlValue(text)
		}
		return text
	case reflect.Slice:
		if strings.HasPrefix(text, "[") {
			return tomlValue(text)
		}
		list := []any{}
		for item := range strings.SplitSeq(text, ",") {
			if item = strings.TrimSpace(item); item != "" {
				list = append(list, item)
			}
		}
		return list
	case reflect.Bool:
		if b, err := strconv.ParseBool(text); err == nil {
			return b
		}
		return text
	}
	if n, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64); err == nil {
		return n
	}
	if x, err := strconv.ParseFloat(text, 64); err == nil {
		return x
	}
	return text
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
func (k Key) check(in reflect.Value) error {
	field := k.field(in)
	outside := false
	switch k.kind {
	case reflect.Int:
		outside = k.limits != nil && !k.limits.contains(float64(field.Int()))
	case reflect.Float64:
		x := field.Float()
		outside = math.IsNaN(x) || math.IsInf(x, 0) || k.limits != nil && !k.limits.contains(x)
	case reflect.String:
		outside = len(k.Choices) > 0 && !slices.Contains(k.Choices, field.String())
	}
	if outside {
		return fmt.Errorf("%s = %s is out of range: it wants %s", k.Name, oneLine(tomlText(field)), k.Wants())
	}
	return nil
}

// Wants says in words what values the key takes.
func (k Key) Wants() string {
	switch {
	case len(k.Choices) > 0:
		return "one of " + strings.Join(k.Choices, ", ")
	case k.kind == reflect.Int:
		return strings.TrimSpace("a whole number " + k.limits.String())
	case k.kind == reflect.Float64:
		return strings.TrimSpace("a number " + k.limits.String())
	case k.kind == reflect.Bool:
		return "true or false"
	case k.kind == reflect.Slice:
		return `a list of texts such as ["a", "b"]`
	}
	return "a text in quotes"
}

// Comment is the key's help with what it may be: "Dropout ... (a number of at least 0 and below 1; default 0.1)."
func (k Key) Comment() string {
	help := strings.ToUpper(k.Help[:1]) + k.Help[1:]
	var notes []string
	if k.limits != nil || len(k.Choices) > 0 {
		notes = append(notes, k.Wants())
	}
	if k.Default != "" {
		notes = append(notes, "default "+k.Default)
	}
	if len(notes) == 0 {
		return help + "."
	}
	return help + " (" + strings.Join(notes, "; ") + ")."
}

// describe names a value read from TOML, with its type where that is what was wrong.
func describe(value any) string {
	switch x := value.(type) {
	case string:
		return "the text " + oneLine(strconv.Quote(x))
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
