package request

import (
	"bytes"
	"cmp"
	"encoding/hex"
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
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aperture-ml/aperture/internal/files"
)

// Fields are the parts of a request by name: strings and lists of strings of a form, or any values of JSON.
type Fields map[string]any

// partsBytes is what package multipart counts beside the contents of the parts that it takes, at most 1,000.
const partsBytes = 1 << 20

// Read reads the fields of a request from its body: JSON, or a form of either kind. Values in the address count as
// those of a form.
func Read(r *http.Request, body []byte) (Fields, error) {
	kind, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil && r.Header.Get("Content-Type") != "" {
		return nil, &Error{http.StatusUnsupportedMediaType, "request", "the Content-Type cannot be read"}
	}
	switch kind {
	case "", "application/json", "application/x-www-form-urlencoded", "multipart/form-data":
	default:
		return nil, &Error{http.StatusUnsupportedMediaType, "request",
			fmt.Sprintf("the body is of type %s: send application/json or a form", files.ShownAtMost(100, kind))}
	}
	if packed := r.Header.Get("Content-Encoding"); packed != "" && !strings.EqualFold(packed, "identity") {
		return nil, &Error{http.StatusUnsupportedMediaType, "request",
			fmt.Sprintf("the body is packed with %s: send it unpacked", files.ShownAtMost(100, packed))}
	}
	f := Fields{}
	looksLikeJSON := bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{"))
	switch {
	case kind == "multipart/form-data":
		form, err := multipart.NewReader(bytes.NewReader(body), parameters["boundary"]).ReadForm(int64(len(body)) + partsBytes)
		if err != nil {
			return nil, Invalid("the form cannot be read")
		}
		defer form.RemoveAll()
		f.addForm(form.Value)
	case kind == "application/json" || kind == "" && looksLikeJSON:
		if err := f.addJSON(body); err != nil {
			return nil, err
		}
	case looksLikeJSON:
		return nil, Invalid("the form cannot be read: JSON wants the header Content-Type: application/json")
	default:
		f.addForm(parseForm(string(body)))
	}
	f.addForm(parseForm(r.URL.RawQuery))
	return f, f.check()
}

// parseForm reads a form as browsers do (WHATWG URL, 5.1). To net/url a semicolon is an error, and so is a percent sign
// without two digits behind it; both are ordinary text here.
func parseForm(text string) url.Values {
	values := url.Values{}
	for pair := range strings.SplitSeq(text, "&") {
		if name, value, _ := strings.Cut(pair, "="); pair != "" {
			values.Add(unescape(name), unescape(value))
		}
	}
	return values
}

func unescape(text string) string {
	text = strings.ReplaceAll(text, "+", " ")
	if !strings.Contains(text, "%") {
		return text
	}
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		if text[0] == '%' && len(text) > 2 {
			if b, err := hex.DecodeString(text[1:3]); err == nil {
				out, text = append(out, b...), text[3:]
				continue
			}
		}
		out, text = append(out, text[0]), text[1:]
	}
	return string(out)
}

func (f Fields) addForm(values map[string][]string) {
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

func (f Fields) addJSON(body []byte) error {
	if !utf8.Valid(body) {
		return Invalid("the body is no valid UTF-8")
	}
	if loneSurrogate(body) {
		return Invalid("the body has half of a surrogate pair, which is no character")
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&f); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return Invalid("the body must be a JSON object, and is of the type %s", wrong.Value)
		}
		return Invalid("the body is no JSON: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if f == nil {
		return Invalid("the body must be a JSON object, not null")
	}
	if _, err := decoder.Token(); err != io.EOF {
		return Invalid("the body goes on behind its JSON object")
	}
	return nil
}

// check refuses what is no text in any field.
func (f Fields) check() error {
	var bad func(x any) error
	bad = func(x any) error {
		switch x := x.(type) {
		case string:
			switch {
			case !utf8.ValidString(x):
				return Invalid("a value is no valid UTF-8")
			case strings.ContainsRune(x, 0):
				return Invalid("a value has the character NUL")
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

// Given reports whether a field holds something: null, the empty value of a form and an empty list do not.
func (f Fields) Given(name string) bool {
	list, ok := f[name].([]any)
	return f[name] != nil && f[name] != "" && (!ok || len(list) > 0)
}

// Text is a field that is a string, empty where it is missing.
func (f Fields) Text(name string) (string, error) {
	switch x := f[name].(type) {
	case nil:
		return "", nil
	case string:
		return x, nil
	}
	return "", Invalid("%s must be a string", name)
}

// Texts is a field that is a string or a list of strings; one says that it was a string.
func (f Fields) Texts(name string) (list []string, one bool, err error) {
	switch x := f[name].(type) {
	case string:
		return []string{x}, true, nil
	case []any:
		for i, y := range x {
			text, ok := y.(string)
			if !ok {
				return nil, false, Invalid("%s must be a string or a list of strings, and its entry %d is neither", name,
					i+1)
			}
			list = append(list, text)
		}
		return list, false, nil
	case nil:
		return nil, false, Invalid("Invalid request: missing %s parameter", name)
	}
	return nil, false, Invalid("%s must be a string or a list of strings", name)
}

// Whole is a field that is a whole number from low to high, or the given one where it is missing.
func (f Fields) Whole(name string, missing, low, high int) (int, error) {
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
		return 0, Invalid("%s must be a whole number from %d to %d", name, low, high)
	}
	return int(n), nil
}

// Flag is a field that is true or false, false where it is missing.
func (f Fields) Flag(name string) (bool, error) {
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
	return false, Invalid("%s must be true or false", name)
}

// maxTerms bounds the terms, and the patterns, of a request.
const maxTerms = 1000

// Term is a source text, and what it is translated by.
type Term struct{ Source, Target string }

// Terms is a field that is an object of translations by source text.
func (f Fields) Terms(name string) (list []Term, err error) {
	x := f[name]
	if text, form := x.(string); form {
		if text == "" {
			return nil, nil
		}
		inner := Fields{}
		if err := cmp.Or(inner.addJSON([]byte(text)), inner.check()); err != nil {
			return nil, Invalid("%s must be a JSON object of source texts and their translations", name)
		}
		x = map[string]any(inner)
	}
	object, ok := x.(map[string]any)
	if !ok && x != nil {
		return nil, Invalid("%s must be an object of source texts and their translations", name)
	}
	if len(object) > maxTerms {
		return nil, Invalid("%s has more than %d entries", name, maxTerms)
	}
	for _, source := range slices.Sorted(maps.Keys(object)) { // the order in which a search tries them
		target, ok := object[source].(string)
		if !ok {
			return nil, Invalid("%s must be an object of source texts and their translations, and that of %q is no "+
				"string", name, source)
		}
		list = append(list, Term{Source: source, Target: target})
	}
	return list, nil
}

// Names is a field that is a list of names, or a string of them between commas, in lower case.
func (f Fields) Names(name string) (map[string]bool, error) {
	if f[name] == nil {
		return nil, nil
	}
	texts, _, err := f.Texts(name)
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
