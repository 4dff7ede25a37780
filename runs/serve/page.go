package main

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"
	"sync"
)

// page is one file without anything from elsewhere: its script and its style stand in it.
//
//go:embed page.html
var page []byte

// policy lets the page's own script and style run, by their digests, and nothing else.
var policy = sync.OnceValue(func() string {
	digest := func(element string) string {
		found := regexp.MustCompile(`(?s)<` + element + `>(.*?)</` + element + `>`).FindSubmatch(page)
		sum := sha256.Sum256(found[1])
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return strings.Join([]string{"default-src 'none'", "script-src " + digest("script"), "style-src " + digest("style"),
		"connect-src 'self'", "img-src data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"}, "; ")
})

func (a *app) page(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		a.handle(libre, http.MethodGet, nil)(w, r) // which refuses it
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", policy())
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	w.Write(page) // a failed write is a caller that has gone
}
