package prepare

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// mustFail returns the sentence with which preparing fails, after which nothing is there but whole texts, which the
// counts tell.
func mustFail(t *testing.T, corpus, from string, settings map[string]string) (to, sentence string) {
	t.Helper()
	to = filepath.Join(t.TempDir(), "to")
	_, err := Run(context.Background(), Options{Corpus: corpus, From: from, To: to, Settings: settings})
	if err == nil {
		t.Fatalf("%s went through", corpus)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("not one line: %v", err)
	}
	entries, _ := os.ReadDir(to)
	var counts Counts
	if len(entries) > 0 {
		if err := json.Unmarshal([]byte(fixtures.Read(t, to, CountsFile)), &counts); err != nil || counts.Complete {
			t.Errorf("%+v, %v", counts, err)
		}
	}
	told := filesOf(&counts)
	for _, entry := range entries {
		if _, found := told[entry.Name()]; !found && entry.Name() != CountsFile {
			t.Errorf("%v left %s", err, entry.Name())
		}
	}
	return to, err.Error()
}

// What is damaged is reported with the name of the file and what to do, and leaves no text.
func TestDamage(t *testing.T) {
	cut := func(text string) string { return text[:len(text)*2/3] }
	for _, c := range []struct {
		what, corpus, file string
		hurt               func(text string) string
		want               string
	}{
		{"a cut .gz", "multi30k", "data/task1/raw/train.en.gz", cut,
			"train.en.gz is damaged or cut short (unexpected EOF): download it again"},
		{"an empty .gz", "multi30k", "data/task1/raw/train.en.gz", func(string) string { return "" },
			"train.en.gz is damaged or cut short (EOF)"},
		{"no .gz", "multi30k", "data/task1/raw/train.en.gz", func(string) string { return "<html>not here</html>" },
			"train.en.gz is damaged or cut short (gzip: invalid header)"},
		{"a changed .gz", "multi30k", "data/task1/raw/train.en.gz",
			func(s string) string { return s[:len(s)-6] + "x" + s[len(s)-5:] },
			"train.en.gz is damaged or cut short (gzip: invalid checksum)"},
		{"a .gz of no text", "multi30k", "data/task1/raw/train.en.gz",
			func(string) string { return fixtures.Gzip(t, "") }, ": both sides need the same number"},
		{"a .gz with bad UTF-8", "multi30k", "data/task1/raw/train.en.gz",
			func(string) string { return fixtures.Gzip(t, "good\nb\xe4d\n") },
			"train.en.gz:2: byte 2 of the line (0xE4) is not valid UTF-8"},
		{"an endless line", "multi30k", "data/task1/raw/train.en.gz",
			func(string) string { return fixtures.Gzip(t, "a\n"+strings.Repeat("x", 1<<26)) },
			"train.en.gz:2: this line has more than 1000000 bytes: break it up"},
		{"a side with a line less", "multi30k", "data/task1/raw/val.de.gz",
			func(string) string { return fixtures.Gzip(t, "one\ntwo\n") }, "val.de.gz ends after 2 lines of text and "},
		{"a side with lines more", "multi30k", "data/task1/raw/val.de.gz",
			func(string) string { return fixtures.Gzip(t, strings.Repeat("one\n", 1100)) },
			"val.en.gz ends after 5 lines of text and "},
		{"a cut .tgz", "iwslt14", "de-en.tgz", cut, " is damaged or cut short (unexpected EOF): download it again"},
		{"a .tgz cut at its end", "iwslt14", "de-en.tgz", func(s string) string { return s[:len(s)-4] },
			"de-en.tgz is damaged or cut short (unexpected EOF)"},
		{"a page in place of a .tgz", "iwslt14", "de-en.tgz", func(string) string { return "<html>" },
			"de-en.tgz is no tar file, nor one packed with gzip: download it again"},
		{"an empty .tgz", "iwslt14", "de-en.tgz", func(string) string { return "" }, "de-en.tgz is no tar file"},
		{"a packed page", "iwslt14", "de-en.tgz",
			func(string) string { return fixtures.Gzip(t, strings.Repeat("<html>", 100)) },
			"de-en.tgz is damaged or cut short (archive/tar: invalid tar header)"},
		{"a .tgz without the members", "iwslt14", "de-en.tgz",
			func(string) string { return fixtures.Gzip(t, fixtures.Tar(t, map[string]string{"x": "y"})) },
			"train.tags.de-en.de, train.tags.de-en.en, IWSLT14.TED.dev2010.de-en.de.xml, "},
		{"a cut .zip", "wikitext2", "wikitext-2-v1.zip", cut,
			"wikitext-2-v1.zip is damaged or cut short (zip: not a valid zip file): download it again"},
		{"a changed .zip", "wikitext2", "wikitext-2-v1.zip", func(s string) string {
			at := strings.Index(s, "wiki.train.tokens") + 40
			return s[:at] + string(s[at]^8) + s[at+1:]
		}, "wiki.train.tokens is damaged or cut short ("},
		{"no folder", "ptb", "", nil, ": -from names the folder that holds the archives"},
	} {
		from := t.TempDir()
		fixtures.Published(t, from, c.corpus, 60, 5)
		if c.file == "" {
			from = filepath.Join(from, "none")
		} else {
			fixtures.Put(t, from, c.file, c.hurt(fixtures.Read(t, from, c.file)))
		}
		if _, got := mustFail(t, c.corpus, from, nil); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.what, got)
		}
	}
}

// Test sets that are not the published ones are named by line.
func TestDamagedSegments(t *testing.T) {
	good := fixtures.XML([]string{"one", "two"})
	for _, c := range []struct{ text, want string }{
		{strings.Replace(good, "one </seg>", "one", 1), "xml:10: a <seg> does not end on its line"},
		{strings.Replace(good, "one </seg>", "one </seg", 1), "xml:10: a tag <seg> is cut off"},
		{strings.Replace(good, `<seg id="1">`, "", 1), "xml:10: <seg> and </seg> do not alternate"},
		{strings.Replace(good, "</doc>", "", 1), "the file ends within the <doc> of line 4: it is cut short"},
		{good[:strings.Index(good, "two")], "xml:11: a <seg> does not end on its line"},
		{good[:strings.Index(good, "<seg id=\"2\"")], "the file ends within the <doc> of line 4"},
		{strings.Replace(good, "<seg", "<doc docid=\"8\"><seg", 1), "xml:10: a <doc> begins within the one of line 4"},
		{"</doc>\n", "xml:1: a </doc> ends no <doc>"},
		{strings.Replace(good, "two", "tw\xff", 1), "xml:11: byte "},
		{fixtures.XML([]string{"one"}), "ends after 1 lines of text and"},
		{"", "ends after 0 lines of text and"},
	} {
		plain := t.TempDir()
		for _, language := range []string{"de", "en"} {
			fixtures.Put(t, plain, "train.tags.de-en."+language, "o\x00ne\n") // zero bytes go
			for _, set := range []string{"TED.dev2010", "TEDX.dev2012", "TED.tst2010", "TED.tst2011", "TED.tst2012"} {
				fixtures.Put(t, plain, "IWSLT14."+set+".de-en."+language+".xml", good)
			}
		}
		fixtures.Put(t, plain, "IWSLT14.TED.tst2012.de-en.en.xml", c.text)
		to := t.TempDir()
		_, err := Run(context.Background(), Options{Corpus: "iwslt14", From: plain, To: to})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.text, err)
		}
		if _, err := os.Stat(filepath.Join(to, "test.en")); !errors.Is(err, os.ErrNotExist) {
			t.Error("a damaged test set left its text")
		}
		if got := fixtures.Read(t, to, "train.en"); got != "one\n" {
			t.Errorf("what was whole did not stay: %q", got)
		}
	}
}

// Which file is meant must be plain.
func TestAmbiguous(t *testing.T) {
	from := t.TempDir()
	fixtures.Published(t, from, "iwslt14", 30, 2)
	fixtures.Put(t, from, "copy/de-en.tgz", fixtures.Read(t, from, "de-en.tgz"))
	_, got := mustFail(t, "iwslt14", from, nil)
	if !strings.Contains(got, "leave the one that is meant in "+from+", and move the other away") {
		t.Error(got)
	}
	// Of an archive and what was in it, the archive is taken: it is known to be whole.
	from = t.TempDir()
	fixtures.Published(t, from, "iwslt14", 30, 2)
	fixtures.Put(t, from, "unpacked/train.tags.de-en.de", "half\n")
	mustRun(t, "iwslt14", from, nil)
	// The archive of another year in the folder is known by what else it holds.
	from = t.TempDir()
	fixtures.Published(t, from, "iwslt14", 30, 2)
	fixtures.Published(t, from, "iwslt16", 40, 2)
	if counts, _ := mustRun(t, "iwslt14", from, nil); counts.Texts[0].Inputs[0].Path != "de-en.tgz" {
		t.Errorf("%+v", counts.Texts[0].Inputs)
	}
	if counts, _ := mustRun(t, "iwslt16", from, nil); counts.Texts[0].Inputs[0].Path != "2016-01.tgz" {
		t.Errorf("%+v", counts.Texts[0].Inputs)
	}
}
