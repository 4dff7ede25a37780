package prepare

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/internal/fixtures"
)

// made lists the texts that were made, not found.
func made(c *Counts) (names []string) {
	for _, text := range c.Texts {
		if !text.Again {
			names = append(names, text.Name)
		}
	}
	return names
}

// A repeated call makes what is not there, was changed, or comes from other files, and nothing else.
func TestRepeat(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
	fixtures.Published(t, from, "multi30k", 200, 5)
	again := func(what string, want ...string) *Counts {
		t.Helper()
		counts, err := Run(context.Background(), Options{Corpus: "multi30k", From: from, To: to})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if diff := cmp.Diff(want, made(counts)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		if entries, err := os.ReadDir(to); err != nil || len(entries) != len(filesOf(counts))+1 {
			t.Errorf("%s: %v, %v", what, entries, err)
		}
		return counts
	}
	first := again("first", "train", "val", "test_2016_flickr")
	again("at once")
	fixtures.Put(t, to, "val.en", strings.ToUpper(fixtures.Read(t, to, "val.en")))
	again("after a text was changed", "val")
	if err := os.Remove(filepath.Join(to, "train.de")); err != nil {
		t.Fatal(err)
	}
	fixtures.Put(t, to, ".train.de.12345", "what a kill left")
	again("after a text was lost", "train")
	if last := again("at once"); !cmp.Equal(filesOf(first), filesOf(last)) {
		t.Errorf("%+v became %+v", filesOf(first), filesOf(last))
	}
	fixtures.Put(t, from, "data/task1/raw/val.de.gz", fixtures.Gzip(t, "eins\nzwei\ndrei\nvier\nfünf\n"))
	if counts := again("after an archive was changed", "val"); fixtures.Read(t, to, "val.de") != "eins\nzwei\ndrei\nvier\nfünf\n" || !counts.Complete {
		t.Errorf("%+v", counts)
	}
	for _, language := range []string{"en", "de"} {
		fixtures.Put(t, from, "test_2017_mscoco."+language+".gz", fixtures.Gzip(t, "one\n"))
	}
	again("after a test set was added", "test_2017_mscoco")
	fixtures.Put(t, from, "data/task1/raw/val.de.gz", "hurt")
	if _, err := Run(context.Background(), Options{Corpus: "multi30k", From: from, To: to}); err == nil ||
		fixtures.Read(t, to, "val.de") != "eins\nzwei\ndrei\nvier\nfünf\n" {
		t.Errorf("a damaged archive cost what was there: %v", err)
	}
}

// Folders that hold something else are left alone.
func TestRefusals(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	fixtures.Published(t, from, "multi30k", 20, 5)
	try := func(o Options, want string) {
		t.Helper()
		if _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	try(Options{Corpus: "multi30k", From: from, To: from},
		"would be read and written at once: name another folder with -to")
	try(Options{Corpus: "multi30k", From: filepath.Join(from, "data/task1/raw/train.en.gz"), To: to},
		"is a file, and a folder is wanted: -from names the folder that holds the archives")
	try(Options{Corpus: "multi30k", From: from, To: filepath.Join(from, "data/task1/raw/train.en.gz")},
		"is a file: -to names the folder to write to")
	fixtures.Put(t, to, "val.en", "mine\n")
	try(Options{Corpus: "multi30k", From: from, To: to},
		"val.en is there already, and no counts.json tells that it was made here: move it away, or name another "+
			"folder with -to")
	if fixtures.Read(t, to, "val.en") != "mine\n" {
		t.Error("a file that was there is lost")
	}
	to = filepath.Join(from, "within") // is not taken for what it was made of
	for range 2 {
		if _, err := Run(context.Background(), Options{Corpus: "multi30k", From: from, To: to}); err != nil {
			t.Fatal(err)
		}
	}
	try(Options{Corpus: "multi30k", From: from, To: to, Settings: map[string]string{"languages": "de,en"}},
		"holds multi30k with -languages=en,de: name another folder with -to")
	try(Options{Corpus: "ptb", From: from, To: to},
		"within holds multi30k with -languages=en,de: name another folder with -to")
	// What the counts say is shown, and does nothing to the terminal.
	fixtures.Put(t, from, "strange/"+CountsFile, `{"format":1,"corpus":"\u001b[2J"}`)
	try(Options{Corpus: "multi30k", From: from, To: filepath.Join(from, "strange")},
		"strange holds \uFFFD[2J: name another folder with -to")
	try(Options{Corpus: "ptb", From: from, To: t.TempDir()},
		"lacks files of ptb: simple-examples.tgz (Mikolov's page of RNNLM, fit.vutbr.cz/~imikolov/rnnlm)")
	try(Options{Corpus: "multi30k", From: t.TempDir(), To: t.TempDir()},
		"lacks files of multi30k: train.en.gz, train.de.gz, val.en.gz, val.de.gz, test_2016_flickr.en.gz, "+
			"test_2016_flickr.de.gz (data/task1/raw of github.com/multi30k/dataset)")
	some := t.TempDir()
	fixtures.Put(t, some, "europarl-v7.de-en.de", "x\n")
	fixtures.Put(t, some, "test-full.tgz", fixtures.Gzip(t,
		fixtures.Tar(t, map[string]string{"test-full/newstest2014-deen-src.en.sgm": fixtures.SGM([]string{"x"})})))
	try(Options{Corpus: "wmt14", From: some, To: t.TempDir()},
		some+" lacks files of wmt14: europarl-v7.de-en.en of training-parallel-europarl-v7.tgz "+
			"(statmt.org/wmt13/translation-task.html); training-parallel-commoncrawl.tgz "+
			"(statmt.org/wmt13/translation-task.html); training-parallel-nc-v9.tgz "+
			"(statmt.org/wmt14/translation-task.html, or -news-commentary=v12); newstest2014-deen-ref.de.sgm "+
			"(statmt.org/wmt14/translation-task.html: not held by test-full.tgz)")
	lock, err := files.Lock(to)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	fixtures.Put(t, to, "val.en", "changed\n")
	try(Options{Corpus: "multi30k", From: from, To: to},
		"within is in use by another process: wait for it to end, or name another folder with -to")
	for corpus, settings := range map[string]map[string]string{
		"wmt15": nil, "ptb": {"pair": "de-en"}, "iwslt16": {"pair": "de-fr"}, "multi30k": {"languages": "en"},
		"wmt14": {"news-commentary": "v7"}, "wikitext2": {"form": ""},
	} {
		if err := Check(corpus, settings); err == nil {
			t.Errorf("%s with %v was taken", corpus, settings)
		}
	}
	for _, languages := range []string{"", "en,en", "en,xx", "en de"} {
		if err := Check("multi30k", map[string]string{"languages": languages}); err == nil {
			t.Errorf("languages %q were taken", languages)
		}
	}
}

// A stop at any moment leaves whole texts only, and the next call goes on from there.
func TestStop(t *testing.T) {
	from := t.TempDir()
	fixtures.Published(t, from, "wmt14", 20000, 50)
	want, _ := mustRun(t, "wmt14", from, nil)
	for _, part := range []int64{0, 30, 70, 95} {
		for _, phase := range []string{"looking into archives", "writing wmt14"} {
			to := t.TempDir()
			stopped := errors.New("stopped")
			ctx, cancel := context.WithCancelCause(context.Background())
			_, err := Run(ctx, Options{Corpus: "wmt14", From: from, To: to,
				Progress: func(now string, done, total int64) {
					if done > total {
						t.Errorf("%s: %d of %d bytes", now, done, total)
					}
					if now == phase && 100*done >= part*total {
						cancel(stopped)
					}
				}})
			if !errors.Is(err, stopped) {
				t.Errorf("%s, %d %%: %v", phase, part, err)
			}
			entries, _ := os.ReadDir(to)
			for _, entry := range entries {
				if f, found := filesOf(want)[entry.Name()]; entry.Name() != CountsFile && (!found || !sumIs(t, to, f)) {
					t.Errorf("%s, %d %%: %s was left", phase, part, entry.Name())
				}
			}
			got, err := Run(context.Background(), Options{Corpus: "wmt14", From: from, To: to})
			if err != nil || !cmp.Equal(filesOf(got), filesOf(want)) {
				t.Errorf("%s, %d %%: then %+v, %v", phase, part, filesOf(got), err)
			}
		}
	}
}

func sumIs(t *testing.T, folder string, f File) bool {
	t.Helper()
	sum, err := files.Sum(filepath.Join(folder, f.Name))()
	return err == nil && sum == f.SHA256
}

// TestKill kills the process that prepares at random moments: no text is ever there in part.
func TestKill(t *testing.T) {
	if from := os.Getenv("APERTURE_PREPARE_FROM"); from != "" {
		if _, err := Run(context.Background(),
			Options{Corpus: "wmt14", From: from, To: os.Getenv("APERTURE_PREPARE_TO")}); err != nil {
			t.Fatal(err)
		}
		return
	}
	from := t.TempDir()
	fixtures.Published(t, from, "wmt14", 20000, 50)
	want, _ := mustRun(t, "wmt14", from, nil)
	child := func(to string) *exec.Cmd {
		c := exec.Command(os.Args[0], "-test.run=^TestKill$")
		c.Env = append(os.Environ(), "APERTURE_PREPARE_FROM="+from, "APERTURE_PREPARE_TO="+to)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	start := time.Now()
	if err := child(filepath.Join(t.TempDir(), "to")).Wait(); err != nil {
		t.Fatal(err)
	}
	whole := time.Since(start)
	random := rand.New(rand.NewPCG(1, 2))
	kills, parts := 0, 0
	for range 10 {
		to := t.TempDir()
		c := child(to)
		time.Sleep(time.Duration(random.Int64N(int64(whole))))
		c.Process.Kill()
		if c.Wait() != nil {
			kills++
		}
		there := 0
		for name, f := range filesOf(want) {
			if _, err := os.Stat(filepath.Join(to, name)); err == nil {
				there++
				if !sumIs(t, to, f) {
					t.Errorf("after a kill %s is there in part", name)
				}
			}
		}
		if there > 0 && there < len(filesOf(want)) {
			parts++
		}
		got, err := Run(context.Background(), Options{Corpus: "wmt14", From: from, To: to})
		if err != nil || !cmp.Equal(filesOf(got), filesOf(want)) {
			t.Errorf("after a kill: %+v, %v", filesOf(got), err)
		}
		if entries, err := os.ReadDir(to); err != nil || len(entries) != len(filesOf(want))+1 {
			t.Errorf("after a kill the folder holds %v, %v", entries, err)
		}
	}
	t.Logf("%d of 10 were killed before their end, %d between two files", kills, parts)
}
