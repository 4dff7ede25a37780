package main

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/runs/serve/internal/request"
)

// TestRegions: a language with a region is called by the code under which it is listed.
func TestRegions(t *testing.T) {
	folder, err := trainedTranslator("regional", "-set=data.target=pt-BR")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(started(t, "-model", "regional="+folder).handler())
	defer server.Close()
	if _, answer, _ := ask(t, server.Client(), server.URL+"/v2/languages?type=target", "", ""); !strings.Contains(says(answer), `"PT-BR"`) {
		t.Errorf("the languages are %s", says(answer))
	}
	for target, want := range map[string]int{"PT-BR": 200, "pt-br": 200, "PT-PT": 400, "DE-AT": 200} {
		status, answer, _ := ask(t, server.Client(), server.URL+"/v2/translate", jsonType, `{"text":["a b"],"target_lang":"`+target+`"}`)
		if status != want {
			t.Errorf("%s: %d %s", target, status, says(answer))
		}
	}
}

// TestOutlineDetection: it is on unless it is turned off; the empty field of a form turns nothing off.
func TestOutlineDetection(t *testing.T) {
	for value, off := range map[any]bool{nil: false, "": false, "1": false, "0": true, false: true} {
		o, err := deeplTags(request.Fields{"outline_detection": value})
		if err != nil || o.NoOutline != off {
			t.Errorf("outline_detection = %#v: off is %v, %v", value, o.NoOutline, err)
		}
	}
}
