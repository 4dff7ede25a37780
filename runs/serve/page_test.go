package main

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPageFile: the page is one small file that asks no other place for anything, and its policy lets its own script
// run.
func TestPageFile(t *testing.T) {
	if len(page) > 40<<10 {
		t.Errorf("the page has %d bytes", len(page))
	}
	if found := regexp.MustCompile(`(https?:)?//[a-z]|@import|url\(| on[a-z]+="|style="`).FindAll(page, -1); found != nil {
		t.Errorf("the page has %q", found)
	}
	w := httptest.NewRecorder()
	started(t).handler().ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	policy := w.Header().Get("Content-Security-Policy")
	if w.Code != 200 || !regexp.MustCompile(`^default-src 'none'; script-src 'sha256-.{44}'; style-src 'sha256-.{44}'; `).MatchString(policy) ||
		strings.Contains(policy, "unsafe") {
		t.Errorf("%d, %s", w.Code, policy)
	}
}

// TestPage drives the page in headless Chromium, and has axe-core look at it. APERTURE_BROWSER_MODULES names a folder
// in which `npm install puppeteer-core axe-core` ran.
func TestPage(t *testing.T) {
	modules := os.Getenv("APERTURE_BROWSER_MODULES")
	if modules == "" {
		t.Skip("APERTURE_BROWSER_MODULES is not set: name a folder in which `npm install puppeteer-core axe-core` ran")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	chromium := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil && chromium == "" {
			chromium = found
		}
	}
	if chromium == "" {
		t.Skip("Chromium is not installed")
	}
	a := started(t)
	address, _ := listening(t, a)
	vocabulary := a.models[1].predictor.model.Words
	words := vocabulary.Word(2) + " " + vocabulary.Word(3) + " " + vocabulary.Word(4)
	script, err := filepath.Abs("testdata/page.mjs")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), node, script, chromium, modules, "http://"+address+"/",
		"two lines of words to translate", words).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
