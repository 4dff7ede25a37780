package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKeys: with a file of keys only callers with one of them are answered, by any of the three ways to give it.
func TestKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte("\ufeffsecret-one\n# of the team\nsecret-two \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := started(t, "-api-key", file)
	server := httptest.NewServer(a.handler())
	defer server.Close()
	source, target := a.models[0].pair()
	form := "q=x&source=" + source + "&target=" + target
	for _, test := range []struct {
		form, header string
		status       int
	}{
		{form, "", 403}, {form + "&api_key=secret", "", 403}, {form + "&api_key=secret-two", "", 200},
		{form, "Bearer secret-one", 200}, {form, "DeepL-Auth-Key secret-one", 200}, {form, "Bearer # of the team", 403},
	} {
		status, answer, _ := ask(t, server.Client(), server.URL+"/translate", formType, test.form, "Authorization", test.header)
		if status != test.status || status == 403 && !strings.Contains(says(answer), `{"error":"`) {
			t.Errorf("%v answers %d %s", test, status, says(answer))
		}
	}
	if status, answer, _ := ask(t, server.Client(), server.URL+"/v2/translate", jsonType,
		`{"text":["x"],"target_lang":"`+target+`"}`, "Authorization", "DeepL-Auth-Key nobody"); status != 403 ||
		says(answer) != `{"message":"Invalid API key"}` {
		t.Errorf("%d %s", status, says(answer))
	}
	for path, open := range map[string]bool{"/v2/usage": false, "/v2/languages": false, "/v2/glossaries": false,
		"/v2/glossary-language-pairs": false, "/metrics": false, "/": true, "/health": true, "/ready": true, "/languages": true,
		"/frontend/settings": true} {
		for header, status := range map[string]int{"": 403, "DeepL-Auth-Key nobody": 403, "Bearer secret-one": 200} {
			if open {
				status = 200
			}
			request := httptest.NewRequest("GET", path, nil)
			request.Header.Set("Authorization", header)
			got := httptest.NewRecorder()
			a.handler().ServeHTTP(got, request)
			if got.Code != status {
				t.Errorf("%s with %q answers %d %s, want %d", path, header, got.Code, got.Body, status)
			}
		}
	}
}
