package command

import (
	"strings"

	"github.com/spf13/pflag"
)

// NormalizeArgs rewrites args so that pflag, which wants two dashes before a long name, also takes one: "-method=x" and
// "-method x" become "--method=x" and "--method x". The result is a new slice; args is not changed.
//
// Left alone are "-", "--" and all that follows it, negative numbers ("-1", "-.5"), the value of a flag that takes one
// ("-lenpen -1", "-prompt -x"), and letters that fs knows as shorthands, alone, joined ("-ab") or with a value
// ("-l=de", "-lde"). A long name that fs defines wins over joined shorthands, and a single letter is a long name only
// where fs defines it as one. An unknown name of several letters gets its second dash too, so that pflag's error names
// it whole.
func NormalizeArgs(args []string, fs *pflag.FlagSet) []string {
	out := make([]string, 0, len(args))
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return append(out, args[i:]...)
		}
		if len(arg) < 2 || arg[0] != '-' || negativeNumber(arg) {
			out = append(out, arg)
			continue
		}
		var takesNext bool
		if arg, takesNext = normalizeFlag(arg, fs); takesNext && i+1 < len(args) {
			i++
			out = append(out, arg, args[i])
			continue
		}
		out = append(out, arg)
	}
	return out
}

// normalizeFlag returns arg, which starts with a dash, as pflag wants it, and whether pflag will read the argument
// after it as its value.
func normalizeFlag(arg string, fs *pflag.FlagSet) (normalized string, takesNext bool) {
	body := strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
	name, _, hasValue := strings.Cut(body, "=")
	if name == "" {
		return arg, false
	}
	long := len(name) > 1 || strings.HasPrefix(arg, "--") || fs.ShorthandLookup(name) == nil
	if flag := fs.Lookup(name); flag != nil && long {
		return "--" + body, !hasValue && flag.NoOptDefVal == ""
	}
	if strings.HasPrefix(arg, "--") {
		return arg, false
	}
	if fs.ShorthandLookup(body[:1]) != nil {
		return arg, shorthandsTakeNext(body, fs)
	}
	if len(name) == 1 {
		return arg, false
	}
	return "--" + body, false
}

// shorthandsTakeNext follows pflag's reading of joined shorthands: the first one that needs a value takes the rest of
// the word, or the next argument where nothing is left.
func shorthandsTakeNext(letters string, fs *pflag.FlagSet) bool {
	for i := range len(letters) {
		flag := fs.ShorthandLookup(letters[i : i+1])
		if flag == nil || i+1 < len(letters) && letters[i+1] == '=' {
			return false
		}
		if flag.NoOptDefVal == "" {
			return i+1 == len(letters)
		}
	}
	return false
}

// negativeNumber tells "-1", "-0.5", "-.5" and "-1e-3" from a flag: no flag's name starts with a digit or a point.
func negativeNumber(arg string) bool {
	c := arg[1]
	if c == '.' && len(arg) > 2 {
		c = arg[2]
	}
	return c >= '0' && c <= '9'
}
