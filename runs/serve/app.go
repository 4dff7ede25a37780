package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/serve/internal/request"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// app is what the server's handlers share.
type app struct {
	flags    *flags
	log      *slog.Logger
	metrics  *metrics
	keys     keyring
	models   []*model      // in the order of -model
	bodies   *intake       // that are arriving
	slots    chan struct{} // of requests that have arrived
	draining atomic.Bool
}

// model is a run that is served: a translator, or a language model.
type model struct {
	name, folder string
	translator   *translation.Server
	predictor    *predictor
}

// concurrent is the number of requests that are answered at a time.
const concurrent = 512

func newApp(f *flags, log *slog.Logger) (*app, error) {
	a := &app{flags: f, log: log, metrics: newMetrics(), slots: make(chan struct{}, concurrent)}
	a.bodies = newIntake(bodyLimit(f.MaxChars))
	var err error
	if a.keys, err = readKeys(f.APIKey); err != nil {
		return nil, err
	}
	for _, given := range f.Model {
		m := &model{}
		m.name, m.folder = named(given)
		m.name = cmp.Or(m.name, filepath.Base(filepath.Clean(m.folder)))
		switch {
		case !utf8.ValidString(m.name): // which no label of a metric and no answer can hold
			err = command.Usagef("the name %q is no UTF-8: give one, as -model NAME=FOLDER", m.name)
		case slices.ContainsFunc(a.models, func(o *model) bool { return o.name == m.name }):
			err = command.Usagef("two models are named %s: give them names, as -model first=FOLDER", m.name)
		default:
			err = a.open(m)
		}
		if err != nil {
			return nil, errors.Join(err, a.close(context.Background()))
		}
		a.models = append(a.models, m)
	}
	translates := func(m *model) bool { return m.translator != nil }
	if (f.Int8 || f.Shortlist != "") && !slices.ContainsFunc(a.models, translates) {
		err = command.Usagef("-int8 and -shortlist are for translators, and no model is one: leave them out")
		return nil, errors.Join(err, a.close(context.Background()))
	}
	a.metrics.watch(a.models)
	return a, nil
}

// open opens a model's run folder, by the kind of its network.
func (a *app) open(m *model) (err error) {
	tree, err := keys.ReadFolder(m.folder)
	if err != nil {
		return err
	}
	kind, _ := tree.Section("model")["kind"].(string)
	o := models.Options{Device: a.flags.Device, Threads: a.flags.Threads}
	if slices.Contains(language.Kinds(), kind) {
		m.predictor, err = openPredictor(m.folder, o, a.flags.Queue)
	} else {
		m.translator, err = translation.Serve(m.folder, translation.ServerOptions{
			Options: o, Int8: a.flags.Int8, Shortlist: a.flags.Shortlist, Queue: a.flags.Queue,
			Observe: func(b translation.BatchStats) { a.observe(m, b) },
		})
	}
	if err == nil {
		a.warn(m)
	}
	return err
}

// warn logs what loading a model noticed.
func (a *app) warn(m *model) {
	var warnings []checkpoint.Warning
	if m.translator != nil {
		warnings = m.translator.Warnings()
	} else {
		warnings = m.predictor.warnings()
	}
	for _, w := range warnings {
		a.log.Warn(w.String(), "model", m.name)
	}
}

// observe counts a batch, and logs one that failed.
func (a *app) observe(m *model, b translation.BatchStats) {
	a.metrics.batch(m.name, b)
	if b.Err == nil {
		return
	}
	var panicked interface{ PanicStack() []byte }
	if errors.As(b.Err, &panicked) {
		a.log.Error("a batch failed", "model", m.name, "error", b.Err.Error(), "stack", string(panicked.PanicStack()))
		return
	}
	a.log.Error("a batch failed", "model", m.name, "error", b.Err.Error())
}

// waiting counts the sentences that wait for a translator, or the texts that a language model has to read.
func (m *model) waiting() int {
	if m.translator != nil {
		return m.translator.Waiting()
	}
	return m.predictor.waiting()
}

func (a *app) names() (names []string) {
	for _, m := range a.models {
		names = append(names, m.name)
	}
	return names
}

// reload loads every model anew. One that cannot be loaded goes on as it is.
func (a *app) reload() {
	for _, m := range a.models {
		var err error
		if m.translator != nil {
			err = m.translator.Reload()
		} else {
			err = m.predictor.reload()
		}
		if errors.Is(err, models.ErrClosed) { // the server is stopping
			return
		}
		if err != nil {
			a.log.Error("the model could not be loaded anew, and goes on as it was", "model", m.name, "error",
				command.OneLine(command.Explain(err).Error()))
			a.metrics.failed("reload")
			continue
		}
		a.log.Info("loaded anew", "model", m.name)
		a.warn(m)
	}
}

// close lets requests end, and frees the models; what has not ended when ctx is cancelled gets an error that says so.
func (a *app) close(ctx context.Context) error {
	failed := make([]error, len(a.models))
	var wait sync.WaitGroup
	for i, m := range a.models { // at once: what one computes keeps no other's callers from hearing of ctx
		wait.Go(func() {
			if m.translator == nil {
				failed[i] = m.predictor.close(ctx)
			} else if err := m.translator.Close(ctx); ctx.Err() == nil {
				failed[i] = err
			}
		})
	}
	wait.Wait()
	return errors.Join(failed...)
}

// translators are the models that translate, in order.
func (a *app) translators() (all []*model) {
	for _, m := range a.models {
		if m.translator != nil {
			all = append(all, m)
		}
	}
	return all
}

// pair are the languages of a translator.
func (m *model) pair() (source, target string) {
	s := m.translator.Settings().Text
	return s.Source, s.Target
}

// find is the translator of a pair of languages, in either case, and of a name where one is given. A source that is
// empty or "auto" is the only one that the target is translated from.
func (a *app) find(source, target, name string) (found *model, err error) {
	auto := source == "" || strings.EqualFold(source, "auto")
	known := map[string]bool{}
	var matching []*model
	for _, m := range a.translators() {
		s, t := m.pair()
		if name != "" && m.name != name {
			continue
		}
		known[strings.ToLower(s)], known[strings.ToLower(t)] = true, true
		if (auto || strings.EqualFold(s, source)) && strings.EqualFold(t, target) {
			matching = append(matching, m)
		}
	}
	switch {
	case len(known) == 0 && name == "":
		return nil, request.Invalid("this server has no translator: POST /predict asks its language models")
	case len(known) == 0:
		return nil, request.Invalid("there is no translator named %s", name)
	case !auto && !known[strings.ToLower(source)]:
		return nil, request.Invalid("%s is not supported", source)
	case !known[strings.ToLower(target)]:
		return nil, request.Invalid("%s is not supported", target)
	case len(matching) == 0:
		return nil, request.Invalid("%s is not available as a target language from %s", target, source)
	}
	from, _ := matching[0].pair()
	for _, m := range matching {
		if s, _ := m.pair(); s != from {
			return nil, request.Invalid("%s is translated from several languages, and which one this is must be said: this "+
				"server does not detect languages", target)
		}
	}
	return matching[0], nil
}

// languageModel is the language model of a name, or the first one.
func (a *app) languageModel(name string) (*model, error) {
	for _, m := range a.models {
		if m.predictor != nil && (name == "" || m.name == name) {
			return m, nil
		}
	}
	return nil, request.Invalid("there is no such language model")
}
