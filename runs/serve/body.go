package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/models/translation"
)

// requestError is what a caller did wrong, or what keeps the server from answering, with its status.
type requestError struct {
	status int
	kind   string // in the metrics
	text   string
}

func (e *requestError) Error() string { return e.text }

func badRequest(format string, args ...any) error {
	return &requestError{http.StatusBadRequest, "request", fmt.Sprintf(format, args...)}
}

func tooLarge(format string, args ...any) error {
	return &requestError{http.StatusRequestEntityTooLarge, "size", fmt.Sprintf(format, args...)}
}

// fields are the parts of a request by name: strings and lists of strings of a form, or any values of JSON.
type fields map[string]any

// bodyLimit is the size of a body that can hold a request: a character takes up to twelve bytes, as two escapes of JSON
// or of a form.
func (a *app) bodyLimit() int64 { return 64<<10 + 12*int64(a.flags.MaxChars) }

// read reads the fields of a request from its body: JSON, or a form of either kind. Values in the address count as
// those of a form.
func (a *app) read(r *http.Request, body []byte) (fields, error) {
	kind, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil && r.Header.Get("Content-Type") != "" {
		return nil, &requestError{http.StatusUnsupportedMediaType, "request", "the Content-Type cannot be read"}
	}
	switch kind {
	case "", "application/json", "application/x-www-form-urlencoded", "multipart/form-data":
	default:
		return nil, &requestError{http.StatusUnsupportedMediaType, "request",
			fmt.Sprintf("the body is of type %s: send application/json or a form", files.ShownAtMost(100, kind))}
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badRequest("the address cannot be read: %v", err)
	}
	f := fields{}
	switch {
	case kind == "multipart/form-data":
		form, err := multipart.NewReader(bytes.NewReader(body), parameters["boundary"]).ReadForm(a.bodyLimit())
		if err != nil {
			return nil, badRequest("the form cannot be read")
		}
		defer form.RemoveAll()
		f.addForm(form.Value)
	case kind == "application/json" || kind == "" && bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")):
		if err := f.addJSON(body); err != nil {
			return nil, err
		}
	default:
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return nil, badRequest("the form cannot be read: %v; JSON wants the header Content-Type: application/json", err)
		}
		f.addForm(form)
	}
	f.addForm(values)
	return f, f.check()
}

func (f fields) addForm(values map[string][]string) {
	for name, list := range values {
		if _, given := f[name]; given || len(list) == 0 {
			continue
		}
		if f[name] = any(list[0]); len(list) > 1 {
			all := make([]any, len(list))
			for i, text := range list {
				all[i] = text
			}
			f[name] = all
		}
	}
}

func (f fields) addJSON(body []byte) error {
	if !utf8.Valid(body) {
		return badRequest("the body is no valid UTF-8")
	}
	if loneSurrogate(body) {
		return badRequest("the body has half of a surrogate pair, which is no character")
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&f); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return badRequest("the body must be a JSON object, not a %s", wrong.Value)
		}
		return badRequest("the body is no JSON: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if f == nil {
		return badRequest("the body must be a JSON object, not null")
	}
	if _, err := decoder.Token(); err != io.EOF {
		return badRequest("the body goes on behind its JSON object")
	}
	return nil
}

// check refuses what is no text in any field.
func (f fields) check() error {
	var bad func(x any) error
	bad = func(x any) error {
		switch x := x.(type) {
		case string:
			switch {
			case !utf8.ValidString(x):
				return badRequest("a value is no valid UTF-8")
			case strings.ContainsRune(x, 0):
				return badRequest("a value has the character NUL")
			}
		case []any:
			for _, y := range x {
				if err := bad(y); err != nil {
					return err
				}
			}
		case map[string]any:
			for name, y := range x {
				if err := cmp.Or(bad(name), bad(y)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return bad(map[string]any(f))
}

// loneSurrogate reports whether JSON has an escape \uD800 to \uDFFF that is no half of a pair, which package json would
// replace without a word.
func loneSurrogate(body []byte) bool {
	unit := func(at int) (rune, bool) {
		if at+6 > len(body) || body[at] != '\\' || body[at+1] != 'u' {
			return 0, false
		}
		n, err := strconv.ParseUint(string(body[at+2:at+6]), 16, 32)
		return rune(n), err == nil
	}
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		first, ok := unit(i)
		switch {
		case !ok:
			i++ // the escaped character
		case first >= 0xdc00 && first <= 0xdfff:
			return true
		case first >= 0xd800 && first <= 0xdbff:
			second, ok := unit(i + 6)
			if !ok || second < 0xdc00 || second > 0xdfff {
				return true
			}
			i += 11
		default:
			i += 5
		}
	}
	return false
}

// text is a field that is a string, empty where it is missing.
func (f fields) text(name string) (string, error) {
	switch x := f[name].(type) {
	case nil:
		return "", nil
	case string:
		return x, nil
	}
	return "", badRequest("%s must be a string", name)
}

// texts is a field that is a string or a list of strings; one says that it was a string.
func (f fields) texts(name string) (list []string, one bool, err error) {
	switch x := f[name].(type) {
	case string:
		return []string{x}, true, nil
	case []any:
		for i, y := range x {
			text, ok := y.(string)
			if !ok {
				return nil, false, badRequest("%s must be a string or a list of strings, and its entry %d is neither", name,
					i+1)
			}
			list = append(list, text)
		}
		return list, false, nil
	case nil:
		return nil, false, badRequest("Invalid request: missing %s parameter", name)
	}
	return nil, false, badRequest("%s must be a string or a list of strings", name)
}

// whole is a field that is a whole number from low to high, or the given one where it is missing.
func (f fields) whole(name string, missing, low, high int) (int, error) {
	var text string
	switch x := f[name].(type) {
	case nil:
		return missing, nil
	case json.Number:
		text = x.String()
	case string:
		if text = strings.TrimSpace(x); text == "" {
			return missing, nil
		}
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n != math.Trunc(n) || n < float64(low) || n > float64(high) {
		return 0, badRequest("%s must be a whole number from %d to %d", name, low, high)
	}
	return int(n), nil
}

// flag is a field that is true or false, false where it is missing.
func (f fields) flag(name string) (bool, error) {
	switch x := f[name].(type) {
	case nil:
		return false, nil
	case bool:
		return x, nil
	case string:
		if b, err := strconv.ParseBool(strings.ToLower(x)); err == nil || x == "" {
			return b, nil
		}
	case json.Number:
		if x == "0" || x == "1" {
			return x == "1", nil
		}
	}
	return false, badRequest("%s must be true or false", name)
}

// maxTerms bounds the terms, and the patterns, of a request.
const maxTerms = 1000

// terms is a field that is an object of translations by source text.
func (f fields) terms(name string) (list []translation.Term, err error) {
	x := f[name]
	if text, form := x.(string); form {
		if text == "" {
			return nil, nil
		}
		inner := fields{}
		if err := cmp.Or(inner.addJSON([]byte(text)), inner.check()); err != nil {
			return nil, badRequest("%s must be a JSON object of source texts and their translations", name)
		}
		x = map[string]any(inner)
	}
	object, ok := x.(map[string]any)
	if !ok && x != nil {
		return nil, badRequest("%s must be an object of source texts and their translations", name)
	}
	if len(object) > maxTerms {
		return nil, badRequest("%s has more than %d entries", name, maxTerms)
	}
	for _, source := range slices.Sorted(maps.Keys(object)) { // the order in which a search tries them
		target, ok := object[source].(string)
		if !ok {
			return nil, badRequest("%s must be an object of source texts and their translations, and that of %q is no "+
				"string", name, source)
		}
		list = append(list, translation.Term{Source: source, Target: target})
	}
	return list, nil
}

// names is a field that is a list of names, or a string of them between commas, in lower case.
func (f fields) names(name string) (map[string]bool, error) {
	if f[name] == nil {
		return nil, nil
	}
	texts, _, err := f.texts(name)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, text := range texts {
		for _, one := range strings.Split(text, ",") {
			found[strings.ToLower(strings.TrimSpace(one))] = true
		}
	}
	return found, nil
}

// patterns is a field that is a regular expression, or a list of them.
func (f fields) patterns(name string) (list []*regexp.Regexp, err error) {
	if f[name] == nil || f[name] == "" {
		return nil, nil
	}
	texts, _, err := f.texts(name)
	if err != nil {
		return nil, err
	}
	if len(texts) > maxTerms {
		return nil, badRequest("%s has more than %d entries", name, maxTerms)
	}
	for _, text := range texts {
		p, err := regexp.Compile(text)
		if err != nil {
			return nil, badRequest("%s: %q is no regular expression of Go (RE2's syntax)", name, text)
		}
		list = append(list, p)
	}
	return list, nil
}
