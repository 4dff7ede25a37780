package command

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/aperture-ml/aperture/internal/keys"
)

// Help is what -h prints of a program above and below its flags.
type Help struct {
	Name    string // after "go run ./runs/", as in "score" or "text tokenize"
	Summary string // a sentence that says what the program does
	Usage   string // what follows the name, as in "-ref FILE [flags] < hypotheses"
	About   string // paragraphs between usage and flags; empty for none
	Below   string // paragraphs below the flags; empty for none
	NoArgs  string // what Read tells a user who gives an argument that is no flag; empty: the program takes arguments
}

// Flags are a program's flags, which Parse reads and lists in the order of their definition.
func Flags(name string) *pflag.FlagSet {
	fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
	fs.SortFlags = false
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	return fs
}

// Parse reads a command line without the program's name into flags. After -h it prints help to out and returns ErrHelp.
// What the flags do not take is a *UsageError, which names the nearest flag where there is none of that name.
func (h Help) Parse(fs *pflag.FlagSet, args []string, out io.Writer) error {
	help := fs.BoolP("help", "h", false, "print this")
	if err := fs.Parse(NormalizeArgs(args, fs)); err != nil {
		return FlagError(err, fs, h.Name)
	}
	if !*help {
		return nil
	}
	var b strings.Builder
	h.Head(&b)
	b.WriteString("\nFlags:\n")
	var names []string
	fs.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	ListFlags(&b, fs, names...)
	if h.Below != "" {
		b.WriteString("\n" + strings.Trim(h.Below, "\n") + "\n")
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return err
	}
	return ErrHelp
}

// Head writes what stands above the flags.
func (h Help) Head(b *strings.Builder) {
	fmt.Fprintf(b, "%s\n\nUsage: %s\n", h.Summary, strings.TrimSpace("go run ./runs/"+h.Name+" "+h.Usage))
	if h.About != "" {
		fmt.Fprintf(b, "\n%s\n", strings.TrimSpace(h.About))
	}
}

const (
	helpWidth = 110 // columns of help
	flagWidth = 22  // columns before a flag's description
)

// ListFlags writes a line, or several, for each of the named flags: the name with one dash, what it takes,
// what it does, and its default.
func ListFlags(w io.Writer, fs *pflag.FlagSet, names ...string) {
	for _, name := range names {
		flag := fs.Lookup(name)
		value, usage := pflag.UnquoteUsage(flag)
		left := "-" + name
		if flag.Shorthand != "" {
			left = "-" + flag.Shorthand + ", " + left
		}
		switch value { // what pflag calls a type
		case "int", "uint", "uint64", "int64", "float":
			value = "N"
		case "string", "strings", "stringArray":
			value = "TEXT"
		}
		if flag.NoOptDefVal != "" { // it stands alone
			value = ""
		}
		unset := slices.Contains([]string{"", "0", "false", "[]"}, flag.DefValue)
		if !unset && !strings.Contains(usage, "(default") {
			usage += " (default " + strings.Trim(flag.DefValue, "[]") + ")"
		}
		ListEntry(w, strings.TrimSpace(left+" "+value), usage)
	}
}

// ListEntry writes a name and its description, whose further lines stand below its first.
func ListEntry(w io.Writer, name, description string) {
	line := fmt.Sprintf("  %-*s", flagWidth-2, name)
	if utf8.RuneCountInString(name) > flagWidth-2 {
		fmt.Fprintln(w, line)
		line = strings.Repeat(" ", flagWidth)
	}
	for _, word := range strings.Fields(description) {
		if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > helpWidth {
			fmt.Fprintln(w, line)
			line = strings.Repeat(" ", flagWidth) + " " + word
			continue
		}
		line += " " + word
	}
	fmt.Fprintln(w, strings.TrimRight(line, " "))
}

// FlagError turns pflag's error into a sentence that names the nearest flag where there is none of that name.
func FlagError(err error, flags *pflag.FlagSet, program string) error {
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		var names []string
		flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		name := unknown.GetSpecifiedName()
		return Usagef("unknown flag -%s: did you mean -%s? (%s -h lists the flags)", name, keys.Nearest(name, names),
			program)
	case errors.As(err, &missing):
		return Usagef("-%s wants a value", missing.GetSpecifiedName())
	case errors.As(err, &invalid):
		flag := invalid.GetFlag()
		return Usagef("-%s=%s: it wants %s", flag.Name, invalid.GetValue(), wanted(flag.Value.Type()))
	}
	return &UsageError{Err: err}
}

// wanted is what a flag of a type takes, in words.
func wanted(kind string) string {
	switch kind {
	case "bool":
		return "true or false"
	case "int", "int64":
		return "a whole number"
	case "uint", "uint64":
		return "a whole number of at least 0"
	case "float64":
		return "a number"
	}
	return "another value"
}
