package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/runs/serve/internal/request"
	"github.com/aperture-ml/aperture/torch"
)

// door is one of the interfaces: how it names an error.
type door string

const (
	libre door = "error"   // LibreTranslate's, and our own
	deepl door = "message" // DeepL's
)

// handler routes requests.
func (a *app) handler() http.Handler {
	mux := http.NewServeMux()
	get := func(d door, path string, f func(r *http.Request) (any, error)) {
		mux.HandleFunc(path, a.metrics.count(path, a.handle(d, "GET", func(_ http.ResponseWriter, r *http.Request) (any,
			error) {
			return f(r)
		})))
	}
	withKey := func(f func(*http.Request) (any, error)) func(*http.Request) (any, error) {
		return func(r *http.Request) (any, error) {
			if err := a.authorise(r, nil); err != nil {
				return nil, err
			}
			return f(r)
		}
	}
	post := func(d door, path string, f func(context.Context, request.Fields) (any, error)) {
		mux.HandleFunc(path, a.metrics.count(path, a.handle(d, "POST", func(w http.ResponseWriter, r *http.Request) (any,
			error) {
			body, err := a.bodies.read(w, r)
			if err != nil {
				return nil, err
			}
			select { // only now, so that no slow sender holds a slot
			case a.slots <- struct{}{}:
				defer func() { <-a.slots }()
			default:
				w.Header().Set("Retry-After", "1")
				return nil, &request.Error{Status: http.StatusTooManyRequests, Kind: "busy",
					Text: "too many requests at a time: try again in 1 s"}
			}
			given, err := request.Read(r, body)
			if err == nil {
				err = a.authorise(r, given)
			}
			if err != nil {
				return nil, err
			}
			ctx, cancel := context.WithTimeoutCause(r.Context(), a.flags.timeout, errTimeout)
			defer cancel()
			return f(ctx, given)
		})))
	}
	post(libre, "/translate", a.libreTranslate)
	post(libre, "/detect", a.libreDetect)
	post(libre, "/predict", a.predict)
	post(deepl, "/v2/translate", a.deeplTranslate)
	get(deepl, "/v2/languages", withKey(a.deeplLanguages))
	get(deepl, "/v2/usage", withKey(a.deeplUsage))
	get(deepl, "/v2/glossaries", withKey(a.deeplGlossaries))
	get(deepl, "/v2/glossary-language-pairs", withKey(a.deeplGlossaryPairs))
	get(libre, "/languages", a.libreLanguages)
	get(libre, "/frontend/settings", a.frontendSettings)
	get(libre, "/health", func(*http.Request) (any, error) { return map[string]string{"status": "ok"}, nil })
	get(libre, "/ready", a.ready)
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, r *http.Request) {
		if err := a.authorise(r, nil); err != nil {
			a.handle(libre, "", func(http.ResponseWriter, *http.Request) (any, error) { return nil, err })(w, r)
			return
		}
		a.metrics.handler().ServeHTTP(w, r)
	})
	mux.HandleFunc("/{$}", a.metrics.count("/", a.page))
	for path, d := range map[string]door{"/": libre, "/v2/": deepl, "/v3/": deepl} {
		mux.HandleFunc(path, a.metrics.count("other", a.handle(d, "", func(http.ResponseWriter, *http.Request) (any, error) {
			return nil, &request.Error{Status: http.StatusNotFound, Kind: "request", Text: "Not Found"}
		})))
	}
	return mux
}

// statusGone is what nginx logs of a request whose caller has gone: nobody reads it, and the metrics count it.
const statusGone = 499

var (
	errTimeout = errors.New("the time of the request is over")
	errLogged  = errors.New("the log has what failed")
)

// handle answers with what f gives as JSON, or with an error in the shape of a door.
func (a *app) handle(d door, method string, f func(http.ResponseWriter, *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("X-Content-Type-Options", "nosniff")
		if r.Method == http.MethodOptions && method != "" {
			h.Set("Access-Control-Allow-Methods", method+", OPTIONS")
			h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		value, err := any(nil), error(nil)
		func() {
			defer func() {
				if x := recover(); x != nil {
					a.log.Error("a request failed", "path", r.URL.Path, "error", fmt.Sprint(x), "stack", string(debug.Stack()))
					err = errLogged
				}
			}()
			if method != "" && r.Method != method && !(method == "GET" && r.Method == "HEAD") {
				h.Set("Allow", method)
				err = &request.Error{Status: http.StatusMethodNotAllowed, Kind: "request", Text: "Method Not Allowed"}
				return
			}
			value, err = f(w, r)
		}()
		if r.Context().Err() != nil && err != errSlow && err != errCrowded { // whose deadline is over
			a.metrics.failed("gone")
			w.WriteHeader(statusGone)
			return
		}
		var body bytes.Buffer
		encoder := json.NewEncoder(&body)
		encoder.SetEscapeHTML(false)
		if err == nil {
			if err = encoder.Encode(value); err != nil { // a score that is no finite number
				a.log.Error("an answer is no JSON", "path", r.URL.Path, "error", err.Error())
				err = errLogged
			}
		}
		status := http.StatusOK
		if err != nil {
			var text string
			status, text = a.explain(h, r.URL.Path, err)
			encoder.Encode(map[door]string{d: text})
		}
		h.Set("Content-Type", "application/json; charset=utf-8")
		h.Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		w.Write(body.Bytes()) // a failed write is a caller that has gone
	}
}

// explain is the status and the text of an error. One of no kind that callers know is logged.
func (a *app) explain(h http.Header, path string, err error) (status int, text string) {
	var known *request.Error
	var busy *translation.BusyError
	var line *translation.LineError
	var term *translation.TermError
	var unknown *language.UnknownWordError
	var batch *translation.BatchError
	status, kind, text := http.StatusInternalServerError, "internal", "internal error"
	switch {
	case errors.As(err, &known):
		status, kind, text = known.Status, known.Kind, known.Text
	case errors.As(err, &busy):
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(busy.After.Seconds()))))
		status, kind, text = http.StatusTooManyRequests, "busy", busy.Error()
	case errors.As(err, &line):
		status, kind, text = http.StatusBadRequest, "text", fmt.Sprintf("text %d cannot be translated: %v", line.Line, line.Err)
	case errors.As(err, &term), errors.As(err, &unknown), errors.Is(err, translation.ErrNoProbability):
		status, kind, text = http.StatusBadRequest, "request", err.Error()
	case errors.Is(err, errTimeout), errors.Is(err, context.DeadlineExceeded):
		status, kind = http.StatusGatewayTimeout, "timeout"
		text = fmt.Sprintf("no answer within %s: send less at a time, or try again", a.flags.timeout)
	case errors.Is(err, models.ErrClosed):
		status, kind, text = http.StatusServiceUnavailable, "closed", "the server is stopping"
	case errors.Is(err, torch.ErrOutOfMemory):
		status, kind, text = http.StatusServiceUnavailable, "memory", "not enough memory: send less at a time, or try again"
	case err == errLogged, errors.As(err, &batch): // observe has logged it
	default:
		a.log.Error("a request failed", "path", path, "error", err.Error())
	}
	a.metrics.failed(kind)
	return status, text
}

// authorise checks the caller's key: of the field api_key, or of the header.
func (a *app) authorise(r *http.Request, body request.Fields) error {
	key, err := body.Text("api_key")
	if err != nil {
		return err
	}
	for _, scheme := range []string{"DeepL-Auth-Key ", "Bearer "} {
		if given, found := strings.CutPrefix(r.Header.Get("Authorization"), scheme); found {
			key = strings.TrimSpace(given)
		}
	}
	return a.keys.check(key)
}

// ready says whether another request would be taken.
func (a *app) ready(*http.Request) (any, error) {
	if a.draining.Load() {
		return nil, models.ErrClosed
	}
	full := func(what string) error {
		return &request.Error{Status: http.StatusServiceUnavailable, Kind: "busy", Text: what}
	}
	if len(a.slots) == cap(a.slots) {
		return nil, full("too many requests at a time")
	}
	for _, m := range a.models {
		if m.waiting() >= a.flags.Queue {
			return nil, full("the queue of " + m.name + " is full")
		}
	}
	return map[string]string{"status": "ready"}, nil
}
