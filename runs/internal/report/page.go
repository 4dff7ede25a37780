package report

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
)

// Page is report.html: one file that shows a run and needs no other.
type Page struct {
	Title   string   // of the page, as in "multi30k: spectrum"
	Summary []Field  // the first things to know
	Results []Field  // every number of results.json; see Fields
	Plots   []Plot   // drawn pictures, put into the page
	Samples []Sample // translations or continuations
	Config  string   // the resolved configuration, as TOML
}

// Field is a name and a value, as the page shows them.
type Field struct{ Name, Value string }

// Sample is one line of text with what the model made of it.
type Sample struct{ Source, Reference, Output string }

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"inline": inline, "settings": settings}).Parse(pageText))

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	var page bytes.Buffer
	if err := pageTemplate.Execute(&page, p); err != nil {
		return err
	}
	_, err := w.Write(page.Bytes())
	return err
}

// inline returns a picture as an address that holds it.
func inline(png []byte) template.URL {
	return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(png))
}

// settings returns a TOML text without the comments that explain each key.
func settings(toml string) string {
	var kept strings.Builder
	for line := range strings.Lines(toml) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			kept.WriteString(line)
		}
	}
	return strings.TrimSpace(kept.String())
}

// longList is the number of items above which Fields gives a list's length instead of its items.
const longList = 8

// Fields flattens a JSON object, such as results.json, into dotted names and values, in its own order. Undefined values show
// as a dash, long lists as their length.
func Fields(object []byte) ([]Field, error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.UseNumber()
	token, err := decoder.Token()
	if err != nil || token != json.Delim('{') {
		return nil, fmt.Errorf("report: no JSON object: %v", err)
	}
	return objectFields(decoder, "")
}

// objectFields reads the rest of an object whose opening brace has been read.
func objectFields(decoder *json.Decoder, prefix string) ([]Field, error) {
	var fields []Field
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		name := prefix + key.(string) // JSON knows no other keys
		value, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		switch value {
		case json.Delim('{'):
			inner, err := objectFields(decoder, name+".")
			if err != nil {
				return nil, err
			}
			fields = append(fields, inner...)
		case json.Delim('['):
			text, err := listText(decoder)
			if err != nil {
				return nil, err
			}
			fields = append(fields, Field{name, text})
		default:
			fields = append(fields, Field{name, valueText(value)})
		}
	}
	_, err := decoder.Token() // the closing brace
	return fields, err
}

// listText reads the rest of a list whose opening bracket has been read.
func listText(decoder *json.Decoder) (string, error) {
	var items []string
	for decoder.More() {
		var item any
		if err := decoder.Decode(&item); err != nil {
			return "", err
		}
		items = append(items, valueText(item))
	}
	if _, err := decoder.Token(); err != nil {
		return "", err
	}
	if len(items) > longList {
		return fmt.Sprintf("%d values, %s to %s", len(items), items[0], items[len(items)-1]), nil
	}
	return strings.Join(items, ", "), nil
}

// valueText shows a value; long fractions are cut to six digits.
func valueText(value any) string {
	switch x := value.(type) {
	case nil:
		return "–"
	case json.Number:
		if number, err := x.Float64(); err == nil && strings.ContainsAny(x.String(), ".eE") {
			return strconv.FormatFloat(number, 'g', 6, 64)
		}
		return x.String()
	}
	return fmt.Sprint(value)
}
