package experiment

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"strconv"
	"strings"
)

// WriteTOML writes c, every key that its task reads with a comment that says what it means, what it may be and its default:
// a file that -config takes, and a template for a preset.
func (c Config) WriteTOML(w io.Writer) error {
	var text bytes.Buffer
	section := ""
	for _, k := range keys() {
		if !k.of(c.Task()) {
			continue
		}
		if k.section() != section {
			section = k.section()
			fmt.Fprintf(&text, "\n[%s]\n", section)
		}
		text.WriteString("# " + k.comment() + "\n")
		fmt.Fprintf(&text, "%s = %s\n", k.base(), tomlText(k.field(&c)))
	}
	_, err := w.Write(text.Bytes())
	return err
}

// comment is the key's help with what it may be: "Dropout ... (a number of at least 0 and below 1; default 0.1)".
func (k key) comment() string {
	help := strings.ToUpper(k.help[:1]) + k.help[1:]
	var notes []string
	if k.limits != nil || len(k.choices) > 0 {
		notes = append(notes, k.wants())
	}
	if k.byDefault != "" {
		notes = append(notes, "default "+k.byDefault)
	}
	if len(notes) == 0 {
		return help + "."
	}
	return help + " (" + strings.Join(notes, "; ") + ")."
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
		return tomlString(field.String())
	}
	items := make([]string, field.Len())
	for i := range items {
		items[i] = tomlString(field.Index(i).String())
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// tomlString quotes a text as TOML does, which knows fewer escapes than Go.
func tomlString(s string) string {
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

// Hash returns a SHA-256, in hex, over all keys that a resumed run may not change.
func (c Config) Hash() string {
	sum := sha256.New()
	for _, k := range keys() {
		if k.resume == "" {
			fmt.Fprintf(sum, "%s = %s\n", k.name, tomlText(k.field(&c)))
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Difference is a key whose value differs between two configurations.
type Difference struct {
	Key      string // dotted name, as in "train.steps"
	Old, New string // values as TOML
	Allowed  bool   // whether a resumed run may take the new value
	ByName   bool   // whether it may only where a user asked for it by hand
}

func (d Difference) String() string { return fmt.Sprintf("%s from %s to %s", d.Key, d.Old, d.New) }

// Differences lists the keys whose values differ, in the order of Config, and says which of them a run started with old
// and resumed with next may change.
func Differences(old, next Config) []Difference {
	var all []Difference
	for _, k := range keys() {
		before, after := tomlText(k.field(&old)), tomlText(k.field(&next))
		if before == after {
			continue
		}
		d := Difference{Key: k.name, Old: before, New: after}
		switch k.resume {
		case "free":
			d.Allowed = true
		case "named":
			d.Allowed, d.ByName = true, true
		case "location":
			d.Allowed = before != `""` && after != `""` // elsewhere, but neither gone nor new
		}
		all = append(all, d)
	}
	return all
}

// CheckComplete reports what keeps a preset file from being whole: a syntax error, an unknown key, a value out of range, a
// key of its task that is missing, or a key with no comment beside it or above its group.
func CheckComplete(fsys fs.FS, file string) error {
	text, err := fs.ReadFile(fsys, file)
	if err != nil {
		return err
	}
	l := newLayers()
	if err := l.text(string(text), file, false); err != nil {
		return err
	}
	var missing []string
	for _, k := range keys() {
		if _, given := l.origin[k.name]; !given && k.section() != "" && k.of(l.config.Task()) {
			missing = append(missing, k.name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s: missing keys: %s", file, strings.Join(missing, ", "))
	}
	commented := false
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			commented = false
		case strings.HasPrefix(line, "#"):
			commented = true
		case !strings.HasPrefix(line, "[") && !commented && !strings.Contains(line, "#"):
			return fmt.Errorf("%s: line %d: no comment says why %s", file, i+1, line)
		}
	}
	if err := l.config.Validate(); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}
