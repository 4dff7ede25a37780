package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/runs/internal/train"
	"github.com/aperture-ml/aperture/tokenize/prepare"
	"github.com/aperture-ml/aperture/torch"
)

// prepared runs the command.
func prepared(t *testing.T, arguments ...string) (out string, err error) {
	t.Helper()
	var stdout bytes.Buffer
	o, err := parse(arguments, &stdout)
	if err != nil {
		return stdout.String(), err
	}
	screen, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	err = run(context.Background(), o, &stdout, screen)
	return stdout.String(), err
}

// From the archives of every corpus to twenty updates of its run, with the preset and the names of files that are its
// own.
func TestFromArchivesToUpdates(t *testing.T) {
	for _, c := range prepare.Corpora() {
		spec := experiment.SpecOf(c.Name)
		if spec == nil {
			t.Logf("%s has no run", c.Name)
			continue
		}
		from, data := t.TempDir(), filepath.Join(t.TempDir(), "data")
		fixtures.Published(t, from, c.Name, 230, 5)
		if _, err := prepared(t, c.Name, "-from", from, "-to", data); err != nil {
			t.Fatal(err)
		}
		small := []string{"model.encoder_layers=1", "model.decoder_layers=1", "model.heads=2", "model.ffn_width=16",
			"data.merges=60", "train.max_tokens=300", "decode.beam=1", "decode.max_length_a=1",
			"train.validate_every=20"}
		if spec.Task == experiment.LanguageModel {
			small = []string{"model.hidden=16", "model.layers=1", "train.columns=2", "train.valid_columns=1"}
			if c.Name == "wikitext103" {
				small = []string{"model.hidden=16", "model.layers=1", "model.heads=2", "model.ffn_width=16",
					"train.columns=2", "train.valid_columns=1", "train.validate_every=20",
					"objective.adaptive_cutoffs=5,10"}
			}
		}
		arguments := []string{"-data", data, "-out", filepath.Join(t.TempDir(), "out"), "-steps=20", "-threads=1",
			"-method=mle", "-device=cpu"}
		if c.Name == "wmt16" {
			// its preset has another width of words than the softmax could take
			arguments = append(arguments, "-method=vmf")
		}
		for _, key := range append(small, "model.width=16", "train.accumulate=1", "train.average_last=0",
			"report.plots=false", "report.tensorboard=false", "report.samples=0") {
			arguments = append(arguments, "-set="+key)
		}
		settings, err := experiment.Parse(spec, arguments)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		torch.Test(t, func() { err = train.Run(context.Background(), settings) })
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		results, err := record.Read(settings.Out)
		if err != nil || results.Updates != 20 || len(results.Test) != 1 {
			t.Errorf("%s: %+v, %v", c.Name, results, err)
		}
		// The sums that the run notes are those of counts.json.
		var counts prepare.Counts
		if err := json.Unmarshal([]byte(fixtures.Read(t, data, prepare.CountsFile)), &counts); err != nil {
			t.Fatal(err)
		}
		for _, text := range counts.Texts {
			for _, f := range text.Files {
				if results.Data.SHA256[f.Name] != f.SHA256 {
					t.Errorf("%s: the run read %v, %s is %s", c.Name, results.Data.SHA256, f.Name, f.SHA256)
				}
			}
		}
	}
}

// The table tells what is as published and what is not.
func TestTable(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
	fixtures.Published(t, from, "iwslt14", 46, 1350)
	out, err := prepared(t, "iwslt14", "-from", from, "-to", to)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`(?m)^file +lines +published +tokens +published +types +published +sha256 *$`,
		`(?m)^train\.de +44 +160,239 +\d+ +- +- +- +[0-9a-f]{16}  differs: lines$`,
		`(?m)^valid\.en +2 +7,283 `,
		`(?m)^test\.de +6,750 +6,750 +[\d,]+ +- +- +- +[0-9a-f]{16}  as published$`,
		`(?m)^tokens are Moses tokens$`,
		`(?m)^not as published: train\.de, train\.en, valid\.de, valid\.en$`,
		`(?m)^iwslt14 is written to .*to; counts\.json there has these figures$`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("%s is not in\n%s", want, out)
		}
	}
	if out, err = prepared(t, "iwslt14", "-from", from, "-to", to); err != nil ||
		!strings.Contains(out, "iwslt14 is there already, whole and unchanged, in ") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestCommandLine(t *testing.T) {
	out, err := prepared(t, "-h")
	if err != command.ErrHelp ||
		!strings.Contains(out, "\nUsage: go run ./runs/prepare CORPUS -from FOLDER -to FOLDER") ||
		!strings.Contains(out, "wikitext103") || !strings.Contains(out, "wikitext2, wikitext103: tokens or raw:") {
		t.Errorf("%v: %s", err, out)
	}
	for _, c := range []struct {
		arguments []string
		code      int
		want      string
	}{
		{nil, 2, "name one corpus"},
		{[]string{"ptb", "wmt14", "-from=a", "-to=b"}, 2, "name one corpus"},
		{[]string{"wmt15", "-from=a", "-to=b"}, 2,
			`there is no corpus "wmt15" here: choose multi30k, iwslt14, iwslt16, wmt14, wmt16, ptb, wikitext2, wikitext103`},
		{[]string{"ptb", "-from=a"}, 2, "prepare ptb needs -from, the folder with the archives, and -to"},
		{[]string{"ptb", "-from=a", "-to=b", "-pair=de-en"}, 2, "-pair is no setting of ptb"},
		{[]string{"iwslt16", "-from=a", "-to=b", "-pair=de-fr"}, 2, "-pair=de-fr: choose de-en or fr-en or en-fr"},
		{[]string{"ptb", "-form", "a"}, 2, "-form is no setting of ptb"},
		{[]string{"ptb", "-frm", "a"}, 2, "unknown flag -frm: did you mean -from?"},
		{[]string{"ptb", "-from=" + t.TempDir(), "-to=b"}, 1, "lacks files of ptb: simple-examples.tgz"},
	} {
		_, err := prepared(t, c.arguments...)
		if err == nil || command.ExitCode(err) != c.code || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: exit %d, %v", c.arguments, command.ExitCode(err), err)
		}
	}
}

// A signal ends the work with its exit code, and says what to do.
func TestSignal(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
	fixtures.Published(t, from, "wmt14", 20000, 5)
	ctx, stop := command.Interruptible(context.Background())
	defer stop()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("no signal came")
	}
	screen, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	err = run(ctx, prepare.Options{Corpus: "wmt14", From: from, To: to}, io.Discard, screen)
	if command.ExitCode(err) != 143 ||
		err.Error() != "stopped by signal 15 (terminated): the texts that were whole stay; run the same command again "+
			"for the others" {
		t.Errorf("%v: exit %d", err, command.ExitCode(err))
	}
}
