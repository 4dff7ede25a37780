// Command serve answers over HTTP with trained runs: translators by LibreTranslate's and DeepL's interfaces, language
// models by one of its own, and a page for people.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/torch"
)

func main() {
	f, err := parse(os.Args[1:])
	if err == nil {
		err = command.Guard(func() error { return run(f) })
	}
	command.Exit(err)
}

// flags are the command line.
type flags struct {
	Model     []string `flag:"model" needed:"give the folder of a training run, as -model FOLDER or -model NAME=FOLDER" help:"serve the run in <FOLDER>, by the name of NAME=FOLDER or the folder's own (repeatable)"`
	Listen    string   `flag:"listen" default:"127.0.0.1:5000" help:"<ADDRESS> to listen at; one beyond this machine wants -api-key or -open"`
	APIKey    string   `flag:"api-key" help:"answer only callers that give a key of <FILE>, which has one a line"`
	Open      bool     `flag:"open" not:"api-key" help:"answer any caller that reaches -listen"`
	Int8      bool     `flag:"int8" help:"translate with weights of eight bits, on the CPU: faster, and nearly as good"`
	Shortlist string   `flag:"shortlist" help:"keep translations to the pieces of the short list <FILE>, of this name in each translator's folder (docs/tools.md)"`
	MaxChars  int      `flag:"max-chars" default:"20000" range:"[1,10000000]" help:"characters of a request, at most <N>"`
	MaxTexts  int      `flag:"max-texts" default:"256" range:"[1,100000]" help:"texts of a request, at most <N>"`
	Queue     int      `flag:"queue" default:"4096" range:"[1,10000000]" help:"sentences that may wait for a translator, or texts for a language model, at most <N>; further callers hear when to come back"`
	Timeout   string   `flag:"timeout" default:"60s" help:"a request fails after <TIME>, and its sentences leave the queue"`
	Grace     string   `flag:"grace" default:"20s" help:"after SIGTERM answer what has been accepted, for <TIME> at most"`
	Debug     string   `flag:"debug" help:"serve Go's profiles (pprof) at <ADDRESS> of this machine, as 127.0.0.1:6060"`
	command.Machine

	timeout, grace time.Duration
}

var about = command.Help{
	Name: "serve", Usage: "-model [NAME=]FOLDER ... [flags]",
	Summary: "serve answers over HTTP with trained runs: POST /translate as LibreTranslate does, POST /v2/translate as DeepL " +
		"does, and a page at /.",
	About: "Runs of language models answer POST /predict. SIGHUP loads the models anew and changes over; SIGTERM and SIGINT\n" +
		"answer what has been accepted and end. docs/serving.md has the interfaces.",
	NoArgs: "models are given by -model",
}

func parse(args []string) (*flags, error) {
	f := &flags{}
	if _, err := about.Read(f, args, command.Stdout); err != nil {
		return nil, err
	}
	for name, d := range map[string]struct {
		text string
		to   *time.Duration
	}{"timeout": {f.Timeout, &f.timeout}, "grace": {f.Grace, &f.grace}} {
		var err error
		if *d.to, err = time.ParseDuration(d.text); err != nil || *d.to <= 0 {
			return nil, command.Usagef("-%s=%s: it wants a time, as 20s or 2m", name, d.text)
		}
	}
	beyond, err := beyondThisMachine(f.Listen)
	switch {
	case err != nil:
		return nil, command.Usagef("-listen=%s: it wants an address and a port, as 127.0.0.1:5000: %v", f.Listen, err)
	case beyond && !f.Open && f.APIKey == "":
		return nil, command.Usagef("-listen=%s can be reached from other machines: give -api-key FILE, or -open to answer "+
			"any caller", f.Listen)
	}
	if f.Debug != "" {
		if beyond, err := beyondThisMachine(f.Debug); err != nil || beyond {
			return nil, command.Usagef("-debug=%s: profiles are for this machine alone: give an address such as "+
				"127.0.0.1:6060", f.Debug)
		}
	}
	if f.Int8 && f.Device == "auto" {
		f.Device = "cpu"
	}
	if f.Int8 && f.Device != "cpu" {
		return nil, command.Usagef("-int8 computes on the CPU, and -device is %s: leave one of the two out", f.Device)
	}
	return f, nil
}

// beyondThisMachine reports whether an address can be reached from other machines.
func beyondThisMachine(address string) (bool, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false, err
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return false, err
	}
	if host == "localhost" {
		return false, nil
	}
	ip := net.ParseIP(host)
	return ip == nil || !ip.IsLoopback(), nil
}

// run serves until a signal ends it.
func run(f *flags) error {
	if err := torch.Main(func() error { return nil }); err != nil { // what is wrong with this processor
		return err
	}
	device, err := torch.FindDevice(f.Device)
	if err != nil {
		return &command.UsageError{Err: err}
	}
	f.Device = string(device)
	command.OutliveReaders() // of the log
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	stop := make(chan os.Signal, 2)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	reload := make(chan os.Signal, 1)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(reload, syscall.SIGHUP)
	}
	a, err := newApp(f, log)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", f.Listen)
	if err != nil {
		return errors.Join(fmt.Errorf("-listen: %w", err), a.close(context.Background()))
	}
	if f.Debug != "" {
		debug, err := net.Listen("tcp", f.Debug)
		if err != nil {
			return errors.Join(fmt.Errorf("-debug: %w", err), listener.Close(), a.close(context.Background()))
		}
		defer debug.Close()
		log.Info("profiles", "address", debug.Addr().String())
		go http.Serve(debug, profiles())
	}
	log.Info("serving", "address", listener.Addr().String(), "models", a.names(), "device", f.Device)
	return a.serve(listener, stop, reload)
}

// profiles are Go's own, which nothing else of the server shows.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// serve answers callers of a listener until a signal stops it, and then what has been accepted.
func (a *app) serve(listener net.Listener, stop, reload <-chan os.Signal) error {
	server := &http.Server{
		Handler: a.handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: a.flags.timeout + 60*time.Second, IdleTimeout: 120 * time.Second, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	for {
		select {
		case err := <-failed:
			return errors.Join(err, a.close(context.Background()))
		case <-reload:
			go a.reload()
		case s := <-stop:
			a.draining.Store(true)
			a.log.Info("stopping", "signal", s.String(), "grace", a.flags.grace.String())
			return a.drain(server, stop)
		}
	}
}

// drain answers what has been accepted, within the grace; a second signal ends that at once.
func (a *app) drain(server *http.Server, stop <-chan os.Signal) error {
	ctx, cancel := context.WithTimeout(context.Background(), a.flags.grace)
	defer cancel()
	go func() {
		select {
		case <-stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	err := server.Shutdown(ctx) // waits for the requests that have begun
	if err != nil && a.metrics.begun.Load() == 0 {
		server.Close() // what is left are connections without a request, which callers keep for later
		ctx, err = context.Background(), nil
	}
	closed := a.close(ctx) // those that are left get an error
	if err != nil {
		last, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		server.Shutdown(last)
		server.Close()
		if errors.Is(err, context.Canceled) {
			return errors.New("some requests were not answered when a second signal came")
		}
		return fmt.Errorf("some requests were not answered within %s: raise -grace", a.flags.grace)
	}
	a.log.Info("stopped")
	return closed
}

// name and folder of a -model, which a folder with an equals sign in its name is as a whole.
func named(given string) (name, folder string) {
	if at, err := os.Stat(given); err == nil && at.IsDir() {
		return "", given
	}
	if name, folder, found := strings.Cut(given, "="); found && folder != "" && !strings.Contains(name, "/") {
		return name, folder
	}
	return "", given
}
