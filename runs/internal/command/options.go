package command

import (
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/aperture-ml/aperture/internal/keys"
)

// Read parses a command line without the program's name into the tagged fields of the struct that options points to.
// The flag set that it returns knows which flags were given, and the arguments that are no flags. Errors are those of
// [Help.Parse]. A flag is an exported field, also of an embedded struct:
//
//	Jobs int `flag:"jobs,j" default:"1" range:"[1,64]" help:"train <N> runs at a time"`
//
// Tag flag gives the name and, if there is one, the letter; help describes it, with what it takes in capitals between
// angle brackets. Optional tags: default is the value of a flag that is not given (without it, the field's value), and
// bare of one that is given without a value; range and choice limit what may be given; list:"," splits a list of texts
// at commas, not only where the flag repeats; needed makes the flag required, and tells the user what to give;
// with:"search" or with:"how=cache,dynamic" names the flag, and its values, without which this one means nothing;
// not:"force json" names flags with which it means nothing.
func (h Help) Read(options any, args []string, out io.Writer) (*pflag.FlagSet, error) {
	fs := Flags(h.Name)
	check := Define(fs, options)
	if err := h.Parse(fs, args, out); err != nil {
		return nil, err
	}
	if h.NoArgs != "" && fs.NArg() > 0 {
		return nil, Usagef("unexpected argument %q: %s", fs.Arg(0), h.NoArgs)
	}
	return fs, check()
}

// Annotations of flags that Define takes from tags of the same name, for programs that read their flags themselves.
const (
	GroupOf = "group" // the heading that this flag, and those after it, stand under in help
	KeyOf   = "key"   // the key of the configuration that the flag stands for
)

// Define adds the flags of the struct that options points to, as [Help.Read] describes them, but for those named in
// without. Once fs is parsed, check reports what the tags do not allow.
func Define(fs *pflag.FlagSet, options any, without ...string) (check func() error) {
	into := reflect.ValueOf(options).Elem()
	var tagged []option
	for _, field := range reflect.VisibleFields(into.Type()) {
		names, ok := field.Tag.Lookup("flag")
		o := option{tag: field.Tag}
		o.name, o.letter, _ = strings.Cut(names, ",")
		if !ok || slices.Contains(without, o.name) {
			continue
		}
		o.field = into.FieldByIndex(field.Index)
		o.define(fs)
		for _, annotation := range []string{GroupOf, KeyOf} {
			if text, ok := field.Tag.Lookup(annotation); ok {
				_ = fs.SetAnnotation(o.name, annotation, []string{text}) // fails for a flag that is not defined
			}
		}
		tagged = append(tagged, o)
	}
	return func() error {
		for _, o := range tagged {
			if err := o.check(fs); err != nil {
				return err
			}
		}
		return nil
	}
}

// CPU is a flag of programs that compute on tensors.
type CPU struct {
	Threads int `flag:"threads" range:"[0,inf)" help:"<N> CPU threads; 0 uses all that this process may use"`
}

// Machine are the flags of programs that run a model.
type Machine struct {
	Device string `flag:"device" default:"auto" help:"<DEVICE>: cpu, cuda, cuda:N or auto"`
	CPU
}

// option is a field that a flag sets.
type option struct {
	name, letter string
	tag          reflect.StructTag
	field        reflect.Value
}

var placeholder = regexp.MustCompile(`<([A-Z][\w.,=]*)>`)

// define adds the flag. A default of the tag goes into the field by way of a flag set of its own, which parses it.
func (o option) define(fs *pflag.FlagSet) {
	if given, ok := o.tag.Lookup("default"); ok {
		scratch := Flags("")
		o.bind(scratch, "")
		if err := scratch.Set(o.name, given); err != nil {
			panic(fmt.Sprintf("command: the default of -%s: %v", o.name, err))
		}
	}
	o.bind(fs, placeholder.ReplaceAllString(o.tag.Get("help"), "`$1`"))
	if bare, ok := o.tag.Lookup("bare"); ok {
		fs.Lookup(o.name).NoOptDefVal = bare
	}
}

// bind adds a flag whose default is the field's value.
func (o option) bind(fs *pflag.FlagSet, help string) {
	switch to := o.field.Addr().Interface().(type) {
	case *int:
		fs.IntVarP(to, o.name, o.letter, *to, help)
	case *int64:
		fs.Int64VarP(to, o.name, o.letter, *to, help)
	case *uint64:
		fs.Uint64VarP(to, o.name, o.letter, *to, help)
	case *float64:
		fs.Float64VarP(to, o.name, o.letter, *to, help)
	case *bool:
		fs.BoolVarP(to, o.name, o.letter, *to, help)
	case *string:
		fs.StringVarP(to, o.name, o.letter, *to, help)
	case *[]string:
		if o.tag.Get("list") == "," {
			fs.StringSliceVarP(to, o.name, o.letter, *to, help)
			return
		}
		fs.StringArrayVarP(to, o.name, o.letter, *to, help)
	default:
		panic(fmt.Sprintf("command: -%s sets a %s, which no flag can", o.name, o.field.Type()))
	}
}

// set says whether a flag was given, and not as =false.
func set(flag *pflag.Flag) bool { return flag.Changed && flag.Value.String() != "false" }

// check reports what the tags do not allow.
func (o option) check(fs *pflag.FlagSet) error {
	if what, ok := o.tag.Lookup("needed"); ok && o.field.Len() == 0 {
		return Usagef("-%s is missing: %s", o.name, what)
	}
	flag := fs.Lookup(o.name)
	if !flag.Changed {
		return nil
	}
	for _, name := range strings.Fields(o.tag.Get("not")) {
		other := fs.Lookup(name)
		if set(flag) && set(other) && other.Value.String() != "0" { // a number of 0 turns its flag off
			return Usagef("-%s does not go with -%s: leave one of the two out", o.name, name)
		}
	}
	if with, ok := o.tag.Lookup("with"); ok {
		name, values, _ := strings.Cut(with, "=")
		other := fs.Lookup(name)
		if values == "" && !set(other) ||
			values != "" && !slices.Contains(strings.Split(values, ","), other.Value.String()) {
			return Usagef("-%s goes with -%s", o.name, strings.ReplaceAll(with, ",", " or -"+name+"="))
		}
	}
	if limits, ok := o.tag.Lookup("range"); ok {
		x, _ := strconv.ParseFloat(flag.Value.String(), 64)
		if words, within := keys.Within(limits, x); !within {
			return Usagef("-%s=%s: it wants %s %s", o.name, flag.Value, wanted(flag.Value.Type()), words)
		}
	}
	choices := strings.Fields(o.tag.Get("choice"))
	given, list := o.field.Interface().([]string)
	if !list {
		given = []string{flag.Value.String()}
	}
	for _, value := range given {
		if len(choices) > 0 && !slices.Contains(choices, value) {
			return Usagef("-%s=%s: it wants one of %s", o.name, value, strings.Join(choices, ", "))
		}
	}
	return nil
}
