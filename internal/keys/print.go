package keys

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// Print writes a configuration as TOML, every key that the task reads with a comment of its meaning, values and
// default.
func (s *Schema[C]) Print(c *C, task string) string {
	var b strings.Builder
	section := ""
	for _, k := range s.keys {
		if !k.Of(task) {
			continue
		}
		if k.Section() != section {
			section = k.Section()
			fmt.Fprintf(&b, "\n[%s]\n", section)
		}
		fmt.Fprintf(&b, "# %s\n%s = %s\n", k.Comment(), k.Base(), s.Value(c, k))
	}
	return b.String()
}

var stated = regexp.MustCompile(`[(;] ?default (.*)\)\.$`)

// Stated are the defaults that a configuration states in its comments, as Print writes them, by name. A key whose
// comment states none has the zero value of its type.
func Stated(text string) map[string]any {
	defaults := map[string]any{}
	section, comment := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, value, found := strings.Cut(line, " = ")
		switch {
		case strings.HasPrefix(line, "["):
			section = strings.Trim(line, "[]") + "."
		case strings.HasPrefix(line, "#"):
			comment = line
		case found:
			zero := map[byte]string{'"': `""`, '[': "[]", 't': "false", 'f': "false"}[value[0]]
			if found := stated.FindStringSubmatch(comment); found == nil {
				value = cmp.Or(zero, "0")
			} else if value = found[1]; zero == `""` {
				value = quote(value)
			}
			if tree, err := Parse("x = "+value, name); err == nil {
				defaults[section+name] = tree["x"]
			}
		}
	}
	return defaults
}

// tomlText returns a field's value as TOML.
func tomlText(field reflect.Value) string {
	switch field.Kind() {
	case reflect.Int:
		return strconv.FormatInt(field.Int(), 10)
	case reflect.Float64:
		text := strconv.FormatFloat(field.Float(), 'g', -1, 64)
		if strings.Trim(text, "-0123456789") == "" {
			text += ".0" // without a point TOML would call it a whole number
		}
		return strings.ToLower(text) // nan, as TOML has it
	case reflect.Bool:
		return strconv.FormatBool(field.Bool())
	case reflect.String:
		return quote(field.String())
	}
	items := make([]string, field.Len())
	for i := range items {
		items[i] = quote(field.Index(i).String())
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// quote quotes a text as TOML does, which knows fewer escapes than Go.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
