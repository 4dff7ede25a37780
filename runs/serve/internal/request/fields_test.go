package request

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestForm: a semicolon, and a percent sign without two digits behind it, are ordinary text in a form and an address.
func TestForm(t *testing.T) {
	for text, want := range map[string]string{"q=abc; abc": "abc; abc", "q=100% sure%": "100% sure%", "q=a%2": "a%2",
		"q=%zz%41%C3%A4+b": "%zzAä b", "&&q=a%3Db=c&": "a=b=c", "q": "", "%71=a": "a"} {
		r := httptest.NewRequest("POST", "/", nil)
		if f, err := Read(r, []byte(text)); err != nil || f["q"] != want {
			t.Errorf("the form %q gives %v, %v", text, f, err)
		}
		r.URL.RawQuery = text
		r.Header.Set("Content-Type", "application/json")
		if f, err := Read(r, []byte("{}")); err != nil || f["q"] != want {
			t.Errorf("the address %q gives %v, %v", text, f, err)
		}
	}
}

// TestJSONAsForm: curl -d sends JSON as a form.
func TestJSONAsForm(t *testing.T) {
	r := httptest.NewRequest("POST", "/", nil)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	f, err := Read(r, []byte(` {"q": "50% off"}`))
	if err == nil || !strings.Contains(err.Error(), "JSON wants the header") {
		t.Errorf("%v, %v", f, err)
	}
}

// TestPackedBody: a body that is packed is of a type that is not read.
func TestPackedBody(t *testing.T) {
	r := httptest.NewRequest("POST", "/", nil)
	for packed, want := range map[string]int{"gzip": http.StatusUnsupportedMediaType, "identity": 0, "": 0} {
		r.Header.Set("Content-Encoding", packed)
		_, err := Read(r, []byte("q=a"))
		var refused *Error
		if errors.As(err, &refused); (err != nil) != (want != 0) || want != 0 && (refused.Status != want ||
			!strings.Contains(refused.Text, "send it unpacked")) {
			t.Errorf("packed with %q: %v", packed, err)
		}
	}
}

// TestTermsInOrder: equal requests ask a search for their terms in one order.
func TestTermsInOrder(t *testing.T) {
	for range 20 {
		terms, err := Fields{"terms": map[string]any{"b": "y", "a": "x", "c": "z", "a b": "w"}}.Terms("terms")
		if got := fmt.Sprint(terms); err != nil || got != "[{a x} {a b w} {b y} {c z}]" {
			t.Fatal(got, err)
		}
	}
}
