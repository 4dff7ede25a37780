package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/runs/serve/internal/request"
)

// TestUnanswered: an answer that JSON cannot hold is an error, and a request whose caller has gone counts as such.
func TestUnanswered(t *testing.T) {
	a := &app{log: slog.New(slog.DiscardHandler), metrics: newMetrics()}
	handler := a.metrics.count("/x", a.handle(libre, "GET", func(http.ResponseWriter, *http.Request) (any, error) {
		return map[string]float64{"score": math.NaN()}, nil
	}))
	w := httptest.NewRecorder()
	handler(w, httptest.NewRequest("GET", "/x", nil))
	if w.Code != 500 || w.Body.String() != `{"error":"internal error"}`+"\n" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	handler(httptest.NewRecorder(), httptest.NewRequestWithContext(gone, "GET", "/x", nil))
	w = httptest.NewRecorder()
	a.metrics.handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, line := range []string{`aperture_http_requests_total{path="/x",status="499"} 1`, `aperture_errors_total{kind="gone"} 1`,
		`aperture_errors_total{kind="internal"} 1`} {
		if !strings.Contains(w.Body.String(), line) {
			t.Errorf("/metrics lacks %s", line)
		}
	}
}

// TestFailuresAreLogged: what callers do not learn stands in the log, once.
func TestFailuresAreLogged(t *testing.T) {
	for _, test := range []struct {
		name, logged string
		f            func() (any, error)
	}{
		{"an error of no known kind", `level=ERROR msg="a request failed" path=/x error="the device is lost"`,
			func() (any, error) { return nil, errors.New("the device is lost") }},
		{"a panic", `level=ERROR msg="a request failed" path=/x error=enough stack=`,
			func() (any, error) { panic("enough") }},
		{"no JSON", `level=ERROR msg="an answer is no JSON" path=/x error=`,
			func() (any, error) { return math.NaN(), nil }},
		{"a batch that failed", "", func() (any, error) { return nil, &translation.BatchError{} }},
		{"a caller's error", "", func() (any, error) { return nil, request.Invalid("no") }},
	} {
		var said strings.Builder
		a := &app{log: slog.New(slog.NewTextHandler(&said, nil)), metrics: newMetrics()}
		a.handle(libre, "GET", func(http.ResponseWriter, *http.Request) (any, error) { return test.f() })(
			httptest.NewRecorder(), httptest.NewRequest("GET", "/x", nil))
		lines := strings.Count(said.String(), "\n")
		if !strings.Contains(said.String(), test.logged) || lines > 1 || (lines == 0) != (test.logged == "") {
			t.Errorf("%s: the log says\n%s", test.name, said.String())
		}
	}
}

// crowded is a listener that has no room for the first connection.
type crowded struct {
	net.Listener
	said bool
}

// noRoom is an error after which a server tries again.
type noRoom struct{}

func (noRoom) Error() string   { return "too many open files" }
func (noRoom) Timeout() bool   { return false }
func (noRoom) Temporary() bool { return true }

func (c *crowded) Accept() (net.Conn, error) {
	if !c.said {
		c.said = true
		return nil, noRoom{}
	}
	return c.Listener.Accept()
}

// TestNotAccepted: a connection that could not be accepted stands in the log.
func TestNotAccepted(t *testing.T) {
	f, err := parse([]string{"-model", "a"})
	if err != nil {
		t.Fatal(err)
	}
	said, log := io.Pipe()
	a := &app{flags: f, log: slog.New(slog.NewTextHandler(log, nil)), metrics: newMetrics(), bodies: newIntake(1)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	signals, ended := make(chan os.Signal, 1), make(chan error)
	go func() { ended <- a.serve(&crowded{Listener: listener}, signals, nil) }()
	defer time.AfterFunc(time.Minute, func() { log.Close() }).Stop()
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil || !strings.Contains(line, "level=WARN") || !strings.Contains(line, "too many open files") {
		t.Errorf("the log says %q, %v", line, err)
	}
	said.Close()
	signals <- os.Interrupt
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestReady: a server that would refuse another request says so.
func TestReady(t *testing.T) {
	a := &app{flags: &flags{Queue: 1}, metrics: newMetrics(), slots: make(chan struct{}, 1)}
	for i, want := range []string{`200 {"status":"ready"}`, `503 {"error":"too many requests at a time"}`} {
		if i == 1 {
			a.slots <- struct{}{}
		}
		w := httptest.NewRecorder()
		a.handler().ServeHTTP(w, httptest.NewRequest("GET", "/ready", nil))
		if got := fmt.Sprint(w.Code, " ", strings.TrimSpace(w.Body.String())); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
