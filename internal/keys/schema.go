package keys

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Schema are the keys of a type of configuration, in the order of its fields.
type Schema[C any] struct {
	keys     []Key
	sections []string
	defaults C
}

// New reads the tags of C's fields. Names begin with the prefix, unless that is empty: the section that C stands in.
func New[C any](prefix string) *Schema[C] {
	s := &Schema[C]{}
	if prefix != "" {
		prefix += "."
	}
	s.walk(reflect.TypeFor[C](), prefix, nil, Key{})
	for _, k := range s.keys {
		if section := k.Section(); section != "" && !slices.Contains(s.sections, section) {
			s.sections = append(s.sections, section)
		}
		in, err := reflect.ValueOf(&s.defaults).Elem(), error(nil)
		if k.Default == "" {
			err = k.check(in) // the zero value
		} else {
			err = k.set(in, k.parse(k.Default))
		}
		if err != nil {
			panic(fmt.Sprintf("keys: the default of %s: %v", k.Name, err))
		}
	}
	return s
}

// valueTypes are the types of fields that can be keys.
var valueTypes = []reflect.Type{
	reflect.TypeFor[int](), reflect.TypeFor[float64](), reflect.TypeFor[bool](), reflect.TypeFor[string](),
	reflect.TypeFor[[]string](),
}

// partedType is that of fields which are [Parts].
var partedType = reflect.TypeFor[parted]()

// walk collects the keys of a struct's fields; inherited are the tags of the struct that they stand in, and its place.
func (s *Schema[C]) walk(t reflect.Type, prefix string, index []int, inherited Key) {
	for i := range t.NumField() {
		field := t.Field(i)
		tag := field.Tag.Get
		name, at := tag("toml"), append(slices.Clone(index), i)
		k := Key{
			Name: prefix + name,
			Task: cmp.Or(tag("task"), inherited.Task), Resume: cmp.Or(tag("resume"), inherited.Resume),
			Init: cmp.Or(tag("init"), inherited.Init), Kinds: strings.Fields(tag("kinds")),
			Help: tag("help"), Default: tag("default"), Choices: strings.Fields(tag("choice")), Path: tag("path"),
			index: at, kind: field.Type.Kind(),
		}
		if len(k.Kinds) == 0 {
			k.Kinds = inherited.Kinds
		}
		if inherited.part > 0 {
			k.index, k.part, k.inner, k.Part = inherited.index, inherited.part, at, inherited.Part
		}
		switch {
		case name == "" && field.Type.Implements(partedType):
			for j, part := range reflect.Zero(field.Type).Interface().(parted).list() {
				k.part, k.Part = j+1, part
				s.walk(reflect.TypeOf(part), prefix, nil, k)
			}
			continue
		case name == "-" || name == "" && !(field.Anonymous && k.kind == reflect.Struct):
			continue
		case k.kind == reflect.Struct && name == "":
			s.walk(field.Type, prefix, at, k)
			continue
		case k.kind == reflect.Struct:
			s.walk(field.Type, k.Name+".", at, k)
			continue
		}
		if !slices.Contains(valueTypes, field.Type) {
			panic(fmt.Sprintf("keys: %s is of type %s, which no key can have", k.Name, field.Type))
		}
		if k.Path != "" && k.kind != reflect.String {
			panic(fmt.Sprintf("keys: %s is no text, and names a %s", k.Name, k.Path))
		}
		if k.Help == "" || slices.ContainsFunc(s.keys, func(other Key) bool { return other.Name == k.Name }) {
			panic(fmt.Sprintf("keys: %s has no help, or stands in two places", k.Name))
		}
		if limits, ok := field.Tag.Lookup("range"); ok {
			k.limits = parseInterval(limits)
		}
		s.keys = append(s.keys, k)
	}
}

// Keys lists the keys in their order.
func (s *Schema[C]) Keys() []Key { return s.keys }

// Defaults is the configuration that every key's default makes.
func (s *Schema[C]) Defaults() C { return s.defaults }

// Check reports the first value that is out of its key's range or choices.
func (s *Schema[C]) Check(c *C) error {
	for _, k := range s.keys {
		if err := k.check(reflect.ValueOf(c).Elem()); err != nil {
			return err
		}
	}
	return nil
}

// Lookup finds a key by its dotted name; an unknown name gives an error with the nearest known one.
func (s *Schema[C]) Lookup(name string) (Key, error) {
	names := make([]string, len(s.keys))
	for i, k := range s.keys {
		if k.Name == name {
			return k, nil
		}
		names[i] = k.Name
	}
	return Key{}, fmt.Errorf("unknown key %s: did you mean %s?", oneLine(name), Nearest(name, names))
}

// Set stores a value that a command line gives as text.
func (s *Schema[C]) Set(c *C, name, text string) error {
	k, err := s.Lookup(name)
	if err != nil {
		return err
	}
	return k.set(reflect.ValueOf(c).Elem(), k.parse(text))
}

// Value is a key's value as TOML.
func (s *Schema[C]) Value(c *C, k Key) string { return tomlText(k.field(reflect.ValueOf(c).Elem())) }

// Put stores a value of the key's own type, whatever its range: Check says of that. A whole number is a number too.
func (s *Schema[C]) Put(c *C, name string, value any) error {
	k, err := s.Lookup(name)
	if err != nil {
		return err
	}
	return k.put(reflect.ValueOf(c).Elem(), value)
}

// Text is the value of a key that is a text.
func (s *Schema[C]) Text(c *C, k Key) string { return k.field(reflect.ValueOf(c).Elem()).String() }

// Lay lays the values of a tree over a configuration, in the order of the keys, so that the first error is always the
// same one, and returns the names of the keys that it gave. A name that is no key is an error that names the nearest
// one, unless others is set: the tree then holds keys of other readers too.
func (s *Schema[C]) Lay(c *C, tree Tree, from string, others bool) (given []string, err error) {
	values := map[string]any{}
	for name, value := range tree {
		table, isTable := value.(map[string]any)
		if !isTable || slices.ContainsFunc(s.keys, func(k Key) bool { return k.Name == name }) {
			values[name] = value
			continue
		}
		for inner, x := range table {
			values[name+"."+inner] = x
		}
	}
	for _, section := range s.sections {
		if value, there := values[section]; there {
			return nil, fmt.Errorf("%s: %s wants a section [%s], not %s", from, section, section, describe(value))
		}
	}
	for _, k := range s.keys {
		if value, there := values[k.Name]; there {
			if err := k.set(reflect.ValueOf(c).Elem(), value); err != nil {
				return given, fmt.Errorf("%s: %w", from, err)
			}
			given = append(given, k.Name)
		}
	}
	if others {
		return given, nil
	}
	// TOML itself would pass over a name that is no key in silence.
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		if _, isTable := tree[name].(map[string]any); isTable && !slices.Contains(s.sections, name) {
			return given, fmt.Errorf("%s: unknown section [%s]: did you mean [%s]?",
				from, oneLine(name), Nearest(name, s.sections))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, err := s.Lookup(name); err != nil {
			return given, fmt.Errorf("%s: %w", from, err)
		}
	}
	return given, nil
}
