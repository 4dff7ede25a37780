package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/train"
	"github.com/aperture-ml/aperture/torch"
)

// folders are the run folders of this package's tests.
var folders string

func TestMain(m *testing.M) {
	torch.SetThreads(1)
	var err error
	if folders, err = os.MkdirTemp("", "serve"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(folders)
	os.Exit(code)
}

// translatorRun, its successor and languageRun are small runs on the built-in samples.
var (
	translatorRun = sync.OnceValues(func() (string, error) { return trainedTranslator("multi30k", "-seed=1") })
	successorRun  = sync.OnceValues(func() (string, error) { return trainedTranslator("successor", "-seed=2") })
	languageRun   = sync.OnceValues(func() (string, error) {
		return trained("ptb", "ptb", "-set=data.sample_size=300", "-set=model.width=16", "-set=model.hidden=16")
	})
)

func trainedTranslator(name, arg string) (string, error) {
	return trained("multi30k", name, arg, "-preset=portable", "-set=data.sample=true",
		"-set=data.valid=valid", "-set=data.test=test", "-set=data.store=none", "-set=data.merges=200",
		"-set=data.sample_size=400", "-set=model.width=24", "-set=model.ffn_width=40", "-set=model.encoder_layers=1",
		"-set=model.decoder_layers=1", "-set=model.max_positions=64", "-set=schedule.warmup=20",
		"-set=train.max_tokens=600", "-set=decode.max_length_b=20")
}

func trained(run, name string, args ...string) (string, error) {
	out := filepath.Join(folders, name)
	settings, err := experiment.Parse(experiment.SpecOf(run), append([]string{"-out", out, "-threads=1", "-device=cpu",
		"-set=train.steps=40", "-set=report.plots=false", "-set=report.tensorboard=false"}, args...))
	if err == nil {
		torch.Do(func() { err = train.Run(context.Background(), settings) })
	}
	return out, err
}

// started is an app on the small runs, as the flags change it. It is closed at the end of the test.
func started(t *testing.T, args ...string) *app {
	t.Helper()
	translator, err := translatorRun()
	if err != nil {
		t.Fatal(err)
	}
	model, err := languageRun()
	if err != nil {
		t.Fatal(err)
	}
	f, err := parse(append([]string{"-model", "mt=" + translator, "-model", model, "-threads=1"}, args...))
	if err != nil {
		t.Fatal(err)
	}
	a, err := newApp(f, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.close(context.Background()) }) // the test may have closed it
	return a
}

// listening serves an app until the test ends, or stop is called, which gives serve's error.
func listening(t *testing.T, a *app) (address string, stop func() error) {
	t.Helper()
	return listeningFor(t, a, make(chan os.Signal, 1))
}

// listeningFor is listening with a channel for the signals that stop the server.
func listeningFor(t *testing.T, a *app, signals chan os.Signal) (address string, stop func() error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	reload := make(chan os.Signal, 1)
	signal.Notify(reload, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(reload) })
	go func() { ended <- a.serve(listener, signals, reload) }()
	stop = sync.OnceValue(func() error {
		signals <- os.Interrupt
		return <-ended
	})
	t.Cleanup(func() { stop() })
	return listener.Addr().String(), stop
}

// ask sends a body and reads the answer.
func ask(t *testing.T, client *http.Client, url, kind, body string, headers ...string) (status int, answer any, h http.Header) {
	t.Helper()
	method := "POST"
	if kind == "" {
		method = "GET"
	}
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := client.Do(r)
	if err != nil {
		t.Error(err)
		return 0, nil, nil
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&answer); err != nil {
		t.Errorf("%s answers %.200q: %v", url, text, err)
	}
	return response.StatusCode, answer, response.Header
}

const jsonType, formType = "application/json", "application/x-www-form-urlencoded"

// says writes a value as JSON, for comparisons.
func says(x any) string {
	text, err := json.Marshal(x)
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(text)
}
