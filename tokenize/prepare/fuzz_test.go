package prepare

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/tokenize"
)

// hostileMembers are names that a member of an archive should not have.
var hostileMembers = map[string]string{
	"../../out.en": "a\n", "/tmp/out.en": "b\n", "de-en/x\n\x1b[2J.en": "c\n", "de-en/train.tags.de-en.de": "d\n",
	"de-en/train.tags.de-en.en": "e\n", strings.Repeat("x/", 120) + "train.tags.de-en.en": "f\n",
}

// FuzzTar lists and reads a tar file, packed or not: it stays within what it says it holds.
func FuzzTar(f *testing.F) {
	inner := fixtures.Tar(f, map[string]string{"de-en/train.tags.de-en.de": "ein\n", "de-en/train.tags.de-en.en": "one\n"})
	for _, content := range []string{inner, fixtures.Gzip(f, inner), inner[:700], fixtures.Tar(f, hostileMembers),
		fixtures.Tar(f, map[string]string{"2014-01/de-en.tgz": fixtures.Gzip(f, inner)}), "<html>", "", "\x1f\x8b",
		fixtures.Gzip(f, strings.Repeat("\x00", 1<<16))} {
		f.Add([]byte(content))
	}
	wanted := func(p string) bool { return strings.Contains(p, "train.tags") }
	f.Fuzz(func(t *testing.T, data []byte) {
		a := &archive{small: map[string][]byte{}}
		if fixtures.Promise(t, unpackedBytes(data), func() error {
			return a.list("de-en.tgz", bytes.NewReader(data), "", wanted, download{globs: []string{"*de-en*"}}.offers)
		}) != nil {
			return
		}
		for _, p := range a.paths {
			fixtures.Promise(t, unpackedBytes(data), func() error {
				_, err := skipTo("de-en.tgz", bytes.NewReader(data), p)
				return err
			})
		}
	})
}

// unpackedBytes is a bound of what little fuzzed data may unpack to: deflate gives at most 1,032 bytes for one.
func unpackedBytes(data []byte) int { return 40 * len(data) }

// FuzzSegments: text between <seg> and </seg>, whatever the file holds.
func FuzzSegments(f *testing.F) {
	for _, text := range []string{
		"<doc docid=\"1\">\n<seg id=\"1\"> one </seg>\n<seg id=\"2\">two</seg>\n</doc>\n", "<seg>", "<seg a", "</doc>",
		"<doc><doc>", "<seg><seg></seg>", strings.Repeat("<seg>x</seg>", 100), "<SEG>\xff</SEG>", "<seg\u0130>x</seg>",
		"<hl>\n<seg>&lt;&#0;</seg>\r\n", "<!ENTITY a \"aaaa\"><seg>&a;</seg>",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, read := range []shape{segments, tagged("<url>"), plain, verbatim} {
			bytesOut := 0
			fixtures.Promise(t, len(data), func() error {
				return read(tokenize.NewLines(bytes.NewReader(data), "set.xml"), func(line string) error {
					bytesOut += len(printable(straightened(line)))
					return nil
				})
			})
			if bytesOut > len(data) {
				t.Errorf("%d bytes became %d", len(data), bytesOut)
			}
		}
	})
}

// FuzzPrepare gives both sides of a corpus any content, as files packed with gzip or not: whole texts come out, or
// none, and nothing is written beside them.
func FuzzPrepare(f *testing.F) {
	for _, text := range []string{"one\ntwo\n", "", "one", "one\n\n\x00\n", "a\xff", strings.Repeat("y", 3000) + "\nz\n"} {
		f.Add([]byte(text), []byte("eins\nzwei\n"), true, []byte("{}"))
	}
	f.Add([]byte("one\n"), []byte("eins\n"), false, []byte(`{"format":1,"corpus":"multi30k","texts":[{"files":[{"name":"../x"}]}]}`))
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, source, target []byte, packed bool, counts []byte) {
		// Where training texts are packed and where they are not are two folders, whose files are written over.
		from, to := filepath.Join(folder, "from"), filepath.Join(folder, "to")
		if packed {
			from += "-packed"
		}
		os.RemoveAll(to)
		for name, text := range map[string][]byte{"train.en": source, "train.de": target, "val.en": target, "val.de": source,
			"test_2016_flickr.en": target, "test_2016_flickr.de": target} {
			if content := string(text); packed && strings.HasPrefix(name, "train") {
				fixtures.Put(t, from, name+".gz", fixtures.Gzip(t, content))
			} else {
				fixtures.Put(t, from, name, content)
			}
		}
		fixtures.Put(t, to, CountsFile, string(counts))
		if fixtures.Promise(t, 1<<16+8*(len(source)+len(target)), func() error {
			_, err := Run(context.Background(), Options{Corpus: "multi30k", From: from, To: to})
			return err
		}) != nil {
			return
		}
		var told Counts
		if json.Unmarshal([]byte(fixtures.Read(t, to, CountsFile)), &told) != nil {
			t.Error("the counts are not written")
		}
		files, _ := filepath.Glob(filepath.Join(to, "*"))
		known := filesOf(&told)
		for _, path := range files {
			if name := filepath.Base(path); name != CountsFile && known[name].Name == "" {
				t.Errorf("%s is beside the texts", name)
			}
		}
	})
}
