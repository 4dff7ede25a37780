package main

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// translationRun is a run folder with its texts alone, and the file of its encoded training text.
func translationRun(t *testing.T) (folder, store string) {
	t.Helper()
	folder = t.TempDir()
	english, german := []string{"Hello, small world.", "A small house & a tree."},
		[]string{"Hallo, kleine Welt.", "Ein kleines Haus & ein Baum."}
	for name, lines := range map[string][]string{"train.en": english, "train.de": german} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "config.toml"),
		[]byte("[data]\nsource = \"en\"\ntarget = \"de\"\nmerges = 20\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := translation.ReadSettings(folder)
	if err != nil {
		t.Fatal(err)
	}
	cache := corpus.StoreSettings{Store: filepath.Join(folder, "store")}.Cache()
	train, err := cache.OpenParallel(corpus.PairName{Folder: folder, Name: "train", Source: "en", Target: "de"},
		"-train")
	if err != nil {
		t.Fatal(err)
	}
	texts := &bitext.Texts{Train: train, Cache: cache, Valid: bitext.Lines{Source: english, Target: german}}
	pair, err := translation.LearnText(s, texts.Train, texts.Cache)
	if err != nil {
		t.Fatal(err)
	}
	if err := texts.Encode(pair, corpus.Limits{}, 100); err != nil {
		t.Fatal(err)
	}
	texts.Close()
	if err := pair.Save(filepath.Join(folder, bitext.TokenizerFolder)); err != nil {
		t.Fatal(err)
	}
	stores, _ := filepath.Glob(filepath.Join(folder, "store", "*.pairs"))
	return folder, stores[0]
}

func TestEncodeByLanguageModel(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "config.toml"), []byte("[data]\ntrain = 'x'\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := runText(t, "", "encode", "-run", folder, "-l", "en"); code != 1 ||
		!strings.Contains(errs, "holds no translator") {
		t.Errorf("exit %d, messages %q", code, errs)
	}
}

func TestEncodeAndDecode(t *testing.T) {
	folder, store := translationRun(t)
	const raw = "Ein kleines Haus & ein Baum.\n\nHallo.\n"
	code, ids, errs := runText(t, raw, "encode", "-run", folder, "-l", "de")
	if code != 0 || errs != "" || strings.Count(ids, "\n") != 3 {
		t.Fatalf("encode: exit %d, %q, %q", code, ids, errs)
	}
	if code, marked, errs := runText(t, "\ufeff"+raw, "encode", "-run", folder, "-l", "de"); code != 0 || marked != ids {
		t.Errorf("encode of text with a byte order mark: exit %d, %q, %q", code, marked, errs)
	}
	if code, out, errs := runText(t, ids, "decode", "-run", folder, "-l=de", "-raw"); code != 0 || out != raw ||
		errs != "" {
		t.Errorf("decode -raw: exit %d, %q, %q", code, out, errs)
	}
	code, pieces, errs := runText(t, ids, "decode", "-run", folder, "-l", "de")
	if joined := strings.ReplaceAll(pieces, "@@ ", ""); code != 0 ||
		joined != "Ein kleines Haus &amp; ein Baum .\n\nHallo .\n" || errs != "" {
		t.Errorf("decode: exit %d, %q, %q", code, pieces, errs)
	}
	for language, want := range map[string]string{
		"en": "Hello, small world.\nA small house & a tree.\n",
		"de": "Hallo, kleine Welt.\nEin kleines Haus & ein Baum.\n",
	} {
		if code, out, errs := runText(t, "", "decode", "-run", folder, "-l", language, "-raw", "-store", store); code != 0 || out != want || errs != "" {
			t.Errorf("decode -store: exit %d, %q, %q", code, out, errs)
		}
	}
}

func TestShortlist(t *testing.T) {
	folder, _ := translationRun(t)
	code, out, errs := runText(t, "", "shortlist", "-run", folder, "-frequent", "1", "-best=2",
		filepath.Join(folder, "train.en"), filepath.Join(folder, "train.de"))
	lines := strings.Split(out, "\n")
	if code != 0 || errs != "" || len(strings.Fields(lines[0])) != 1 || !slices.Contains(lines, ".\t.") {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
	for _, line := range lines[1 : len(lines)-1] {
		if _, targets, found := strings.Cut(line, "\t"); !found || len(strings.Fields(targets)) > 2 {
			t.Errorf("the line %q", line)
		}
	}
	for args, want := range map[string]string{
		"%s/train.en":                   "two files are needed, SOURCE and TARGET, and 1 are given",
		"%s/train.en %[1]s/missing":     "missing: there is no such file; SOURCE or TARGET names it; its folder holds",
		"%s/train.en %[1]s/config.toml": "train.en has 2 lines and ",
		"-best 0 %s/train.en %[1]s/x":   "-best=0: it wants",
	} {
		code, out, errs := runText(t, "", append([]string{"shortlist", "-run", folder},
			strings.Fields(fmt.Sprintf(args, folder))...)...)
		if code == 0 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s: exit %d, %q, %q, want %q", args, code, out, errs, want)
		}
	}
}

// craftedStore is a header alone, whose sums are right and whose pairs take 2^64 bytes.
func craftedStore() []byte {
	header := make([]byte, 80)
	copy(header, "aperture pairs 1")
	binary.NativeEndian.PutUint64(header[48:], 2)
	binary.NativeEndian.PutUint64(header[56:], 1<<60)
	binary.NativeEndian.PutUint32(header[76:], crc32.Checksum(header[:76], crc32.MakeTable(crc32.Castagnoli)))
	return header
}

func TestEncodeAndDecodeRefuse(t *testing.T) {
	folder, _ := translationRun(t)
	crafted := filepath.Join(folder, "crafted.pairs")
	if err := os.WriteFile(crafted, craftedStore(), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		in, args string
		code     int
		want     string
	}{
		{"", "encode -l de", 2, "-run is missing: give the folder"},
		{"", "decode -run " + folder, 2, "-language is missing: give one"},
		{"", "encode -l fr -run " + folder, 2, "-l fr: the run translates from en to de"},
		{"", "encode -l de -run /no/such", 1, "/no/such"},
		{"4 five\n", "decode -l de -run " + folder, 1, `standard input:1: "five" is no id`},
		{"4\n4000000\n", "decode -l de -run " + folder, 1, "standard input:2: 4000000 is no id of " + folder},
		{"", fmt.Sprintf("decode -l de -run %s -store %s/train.en", folder, folder), 1,
			"train.en: this is no file of encoded text"},
		{"", fmt.Sprintf("decode -l de -run %s -store %s", folder, crafted), 1, crafted +
			": this is no file of encoded text, or it is damaged"},
		{"", "decode -l de -store /no/such -run " + folder, 1, "/no/such"},
	} {
		code, _, errs := runText(t, c.in, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: exit %d, %q, want %d, %q", c.args, code, errs, c.code, c.want)
		}
	}
}
