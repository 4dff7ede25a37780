package main

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/translation"
)

// TestReload: SIGHUP's work loads each model anew and leaves the answers as they are; one that cannot be loaded goes
// on.
func TestReload(t *testing.T) {
	a := started(t)
	var said strings.Builder
	a.log = slog.New(slog.NewTextHandler(&said, nil))
	want := translated(t, a, "a b c")
	same := func() {
		t.Helper()
		out, err := a.models[0].translator.Translate(t.Context(), []translation.Request{{Line: "a b c"}}, decode.Options{},
			translation.SplitLong)
		if err != nil || out[0][0].Text != want[0] {
			t.Errorf("%+v, %v", out, err)
		}
	}
	for n := range 2 {
		a.reload()
		same()
		if got := strings.Count(said.String(), `msg="loaded anew"`); got != (n+1)*len(a.models) {
			t.Errorf("%d models were loaded anew:\n%s", got, said.String())
		}
	}
	for _, m := range a.models {
		config := filepath.Join(m.folder, "config.toml")
		if err := os.Rename(config, config+".away"); err != nil {
			t.Fatal(err)
		}
		defer os.Rename(config+".away", config)
	}
	a.reload()
	same()
	if strings.Contains(said.String(), "WARN") {
		t.Errorf("the models are sound, and the log says\n%s", said.String())
	}
	if got := strings.Count(said.String(), "goes on as it was"); got != len(a.models) {
		t.Errorf("%d models could not be loaded anew:\n%s", got, said.String())
	}
}

// TestReloadOfStopped: a server that has stopped loads nothing anew, and says nothing of it.
func TestReloadOfStopped(t *testing.T) {
	a := started(t)
	var said strings.Builder
	a.log = slog.New(slog.NewTextHandler(&said, nil))
	if err := a.close(t.Context()); err != nil {
		t.Error(err)
	}
	a.reload()
	if err := a.models[1].predictor.reload(); !errors.Is(err, models.ErrClosed) || said.Len() > 0 {
		t.Errorf("%v, and the log says\n%s", err, said.String())
	}
}

// TestReloadWhileAnswering: a call that has begun with the old model keeps no other one waiting, but for a further
// change of the model: no three are held at once.
func TestReloadWhileAnswering(t *testing.T) {
	p := started(t).models[1].predictor
	old, err := p.use()
	if err != nil {
		t.Fatal(err)
	}
	word, ended := old.Words.Word(3), make(chan error, 2)
	for range cap(ended) {
		go func() { ended <- p.reload() }()
	}
	current := func() *loaded {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.model
	}
	for current() == old {
		time.Sleep(time.Millisecond)
	}
	if _, err := p.predict(t.Context(), word, 1); err != nil {
		t.Error(err)
	}
	select {
	case err := <-ended:
		t.Errorf("the old model is closed while a call uses it, or a third one was loaded: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	if _, err := old.Predict(t.Context(), word, 1); err != nil {
		t.Error(err)
	}
	p.leave(old)
	for range cap(ended) {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestReloadDamaged: loading anew tells what loading told: that an older checkpoint stands in for a damaged one.
func TestReloadDamaged(t *testing.T) {
	a := started(t)
	folder, err := trained("ptb", "damaged", "-set=data.sample_size=300", "-set=model.width=16", "-set=model.hidden=16",
		"-set=train.validate_every=20")
	if err != nil {
		t.Fatal(err)
	}
	m := &model{name: "lm", folder: folder}
	if err := a.open(m); err != nil {
		t.Fatal(err)
	}
	a.models = append(a.models, m)
	var said strings.Builder
	a.log = slog.New(slog.NewTextHandler(&said, nil))
	best, err := os.ReadFile(filepath.Join(folder, "checkpoints", "BEST"))
	if err != nil {
		t.Fatal(err)
	}
	weights := filepath.Join(folder, "checkpoints", strings.TrimSpace(string(best)), "model.safetensors")
	if err := os.WriteFile(weights, []byte("damaged"), 0o666); err != nil {
		t.Fatal(err)
	}
	a.reload()
	if !strings.Contains(said.String(), "WARN") || strings.Contains(said.String(), "goes on as it was") {
		t.Errorf("of a damaged checkpoint the log says\n%s", said.String())
	}
}
