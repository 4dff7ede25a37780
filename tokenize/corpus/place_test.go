package corpus

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// put writes files into a new folder.
func put(t *testing.T, contents map[string]string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for name, content := range contents {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// trainIn are the texts that texts wrote.
func trainIn(folder string) PairName {
	return PairName{Folder: folder, Name: "train", Source: "en", Target: "de"}
}

// linesIn gives the lines of a text, whether they are in memory or in its file.
func linesIn(t *testing.T, text Parallel) (source, target []string) {
	t.Helper()
	err := Blocks([]Text{text.Source, text.Target}, func() (func([][]string) ([][]string, error), error) {
		return func(lines [][]string) ([][]string, error) {
			return [][]string{slices.Clone(lines[0]), slices.Clone(lines[1])}, nil
		}, nil
	}, func(lines [][]string) error {
		source, target = append(source, lines[0]...), append(target, lines[1]...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return source, target
}

// openers are ReadParallel, and OpenParallel with and without a cache.
func openers(t *testing.T) map[string]func(PairName, string) (Parallel, error) {
	kept := StoreSettings{Store: t.TempDir()}.Cache()
	return map[string]func(PairName, string) (Parallel, error){
		"read": ReadParallel, "opened": kept.OpenParallel, "opened again": kept.OpenParallel,
		"opened without a cache": StoreSettings{Store: "none"}.Cache().OpenParallel,
	}
}

// One text has the same lines and sums, however it is packed, and in one file or two.
func TestPlacesOfParallelText(t *testing.T) {
	en, de := "a b\nc\n", "x\ny z\n"
	both, turned := "a b\tx\nc\ty z\n", "x\ta b\ny z\tc\n"
	for what, contents := range map[string]map[string]string{
		"two files": {"train.en": en, "train.de": de, "train.tsv": "p\tq\n",
			"train.en.gz": fixtures.Gzip(t, "p\n")},
		"gzip": {"train.en.gz": fixtures.Gzip(t, en), "train.de.gz": fixtures.Gzip(t, de),
			"train.de.zst": "no"},
		"two parts of gzip": {"train.en.gz": fixtures.Gzip(t, "a b\n") + fixtures.Gzip(t, "c\n"), "train.de": de},
		"Zstandard": {"train.en.zst": fixtures.Zstandard(t, en),
			"train.de.zst": fixtures.Zstandard(t, de)},
		"packed without a name":  {"train.en": fixtures.Gzip(t, en), "train.de": fixtures.Zstandard(t, de)},
		"a table":                {"train.tsv": both},
		"a table from Windows":   {"train.tsv": "\ufeff" + strings.ReplaceAll(both, "\n", "\r\n")},
		"a table without an end": {"train.tsv": strings.TrimSuffix(both, "\n")},
		"a table with its order": {"train.en-de.tsv": both, "train.tsv": turned},
		"a table turned":         {"train.de-en.tsv": turned},
		"a packed table":         {"train.tsv.gz": fixtures.Gzip(t, both)},
		"a table in Zstandard":   {"train.de-en.tsv.zst": fixtures.Zstandard(t, turned)},
	} {
		folder := put(t, contents)
		for how, open := range openers(t) {
			p, err := open(trainIn(folder), "-train")
			if err != nil {
				t.Errorf("%s, %s: %v", what, how, err)
				continue
			}
			source, target := linesIn(t, p)
			if diff := cmp.Diff([]string{"a b", "c", "x", "y z"}, append(source, target...)); diff != "" {
				t.Errorf("%s, %s: %s", what, how, diff)
			}
			if p.Source.SHA256 != sumOf(en) || p.Target.SHA256 != sumOf(de) {
				t.Errorf("%s, %s: other sums than those of the files", what, how)
			}
		}
	}
}

// What is wrong with a file is one sentence that names it, the line, and what to do.
func TestPlacesRefused(t *testing.T) {
	packed := fixtures.Gzip(t, strings.Repeat("a\n", 1000))
	for what, c := range map[string]struct {
		contents map[string]string
		parts    []string
	}{
		"nothing": {nil, []string{"train.en: there is no such file; -train names it, and -src and -tgt its " +
			"languages (en and de); the folder given by -data holds no files; ",
			"what is read is train.en and train.de, or train.en-de.tsv, or train.tsv, each also with .gz or .zst"}},
		"one side": {map[string]string{"train.en": "a\n", "train.tsv": "a\tx\n"},
			[]string{"train.de: there is no such file", "the folder given by -data holds train.en, train.tsv"}},
		"ragged files": {map[string]string{"train.en": "a\nb\n", "train.de.gz": fixtures.Gzip(t, "x\n")},
			[]string{"train.en has 2 lines and ", "train.de.gz has 1", "-train"}},
		"no tab": {map[string]string{"train.tsv": "a\tx\nb\n"},
			[]string{"train.tsv:2: this line has 1 columns", "one tab"}},
		"two tabs": {map[string]string{"train.tsv": "a\tx\nb\ty\tz\n"},
			[]string{"train.tsv:2: this line has 3 columns"}},
		"zero": {map[string]string{"train.en": "a\nb\x00c\n", "train.de": "x\ny\n"},
			[]string{"train.en:2: byte 2 of this line is zero", "UTF-16", "tr -d"}},
		"UTF-16": {map[string]string{"train.en": "\xff\xfea\x00\n\x00", "train.de": "x\n"},
			[]string{"train.en:1: byte 4 of this line is zero", "iconv -f UTF-16"}},
		"no UTF-8": {map[string]string{"train.tsv.gz": fixtures.Gzip(t, "a\tx\nb\t\xe4\n")},
			[]string{"train.tsv.gz:2: byte 3 (0xe4) of this line is not valid UTF-8"}},
		"cut": {map[string]string{"train.en.gz": packed[:len(packed)-10], "train.de": "x\n"},
			[]string{"train.en.gz:", "its packing (gzip) is damaged or cut short: unexpected EOF; get the file again"}},
		"another sum": {map[string]string{"train.en.gz": packed[:len(packed)-8] + "xxxx" + packed[len(packed)-4:],
			"train.de": "x\n"}, []string{"its packing (gzip) is damaged or cut short: gzip: invalid checksum"}},
		"cut Zstandard": {map[string]string{"train.en.zst": fixtures.Zstandard(t, strings.Repeat("a b\n", 99))[:12],
			"train.de": "x\n"}, []string{"train.en.zst:", "its packing (Zstandard) is damaged or cut short"}},
		"rubbish after": {map[string]string{"train.en.gz": fixtures.Gzip(t, "a\n") + "rubbish", "train.de": "x\n"},
			[]string{"train.en.gz:", "its packing (gzip) is damaged or cut short"}},
		"bzip2": {map[string]string{"train.en": "BZh91AY&SYxxxxxxxxx", "train.de": "x\n"},
			[]string{"train.en: it is packed with bzip2, and only gzip and Zstandard are unpacked here"}},
		"empty gzip": {map[string]string{"train.en.gz": fixtures.Gzip(t, ""), "train.de": "x\n"},
			[]string{"train.en.gz: the file is empty"}},
	} {
		folder := put(t, c.contents)
		for how, open := range openers(t) {
			_, err := open(trainIn(folder), "-train")
			t.Run(what+", "+how, func(t *testing.T) { mustName(t, err, c.parts...) })
		}
	}
}

// Lines that are held out are in no other portion, their sums are those of files of them, and their numbers are those
// in the file.
func TestHoldOut(t *testing.T) {
	var lines []string
	for i := range 103 {
		lines = append(lines, strings.Repeat("w ", i%7)+string(rune('A'+i)))
	}
	text := strings.Join(lines, "\n") + "\n"
	folder := put(t, map[string]string{"train.en": text, "train.de.gz": fixtures.Gzip(t, text)})
	for _, c := range []struct {
		wanted            int
		validation, tests bool
		counts            [3]int
	}{
		{1000, true, true, [3]int{93, 5, 5}}, {1000, true, false, [3]int{98, 5, 5}},
		{1000, false, true, [3]int{98, 5, 5}}, {2, true, true, [3]int{100, 1, 2}},
	} {
		training, valid, test := HoldOut(len(lines), c.wanted, c.validation, c.tests)
		seen := map[string]int{}
		for k, portion := range []Portion{training, valid, test} {
			name := trainIn(folder)
			name.Portion = portion
			for how, open := range openers(t) {
				p, err := open(name, "-train")
				if err != nil {
					t.Fatal(err)
				}
				source, target := linesIn(t, p)
				if !slices.Equal(source, target) || p.Source.Len() != c.counts[k] || len(source) != c.counts[k] {
					t.Fatalf("portion %d of %+v, %s: %d lines, want %d", k, c, how, len(source), c.counts[k])
				}
				if p.Source.SHA256 != sumOf(strings.Join(source, "\n")+"\n") {
					t.Errorf("portion %d, %s: another sum than that of its lines", k, how)
				}
				for i, line := range source {
					if n := p.Source.Number(i + 1); lines[n-1] != line {
						t.Fatalf("portion %d, %s: line %d is called line %d", k, how, i+1, n)
					}
				}
				if how == "read" && (k == 0 || k == 1 && c.validation || k == 2 && c.tests) {
					for _, line := range source {
						seen[line]++
					}
				}
			}
		}
		for line, n := range seen {
			if n != 1 {
				t.Errorf("%q is in %d shares", line, n)
			}
		}
		if len(seen) != len(lines) {
			t.Errorf("%+v: %d lines of %d are in a portion", c, len(seen), len(lines))
		}
	}
	few := put(t, map[string]string{"train.en": "a\n", "train.de": "x\n"})
	name := trainIn(few)
	_, name.Portion, _ = HoldOut(1, 10, true, true)
	_, err := ReadParallel(name, "-valid")
	mustName(t, err, "train.en: its 1 lines are too few for data.held_out", "-valid")
}

// Running text has its usual name, WikiText's, or its own.
func TestRunningFile(t *testing.T) {
	for want, contents := range map[string][]string{
		"train.txt":         {"train.txt", "wiki.train.tokens", "train"},
		"wiki.train.tokens": {"wiki.train.tokens.gz", "train"},
		"train":             {"train.zst"},
	} {
		files := map[string]string{}
		for _, name := range contents {
			files[name] = fixtures.Gzip(t, " = a = \nb\n")
		}
		folder := put(t, files)
		path := RunningFile(folder, "train")
		text, err := usual.ReadRunning(path, "-train", NewWords())
		if err != nil || path != filepath.Join(folder, want) || text.File != want || len(text.IDs) != 6 ||
			text.SHA256 != sumOf(" = a = \nb\n") {
			t.Errorf("%v gives %s, %+v, %v", slices.Sorted(maps.Keys(files)), path, text, err)
		}
		sum, err := StoreSettings{Store: "none"}.Cache().SumRunning(usual, path, "-train")
		if err != nil || sum != text.SHA256 {
			t.Errorf("%s: the sum is %s, %v", path, sum, err)
		}
	}
	folder := put(t, map[string]string{"a.txt": "a\n\x00b\n"})
	_, err := usual.ReadRunning(RunningFile(folder, "a"), "-train", NewWords())
	mustName(t, err, "a.txt:2: byte 1 of this line is zero")
	_, err = usual.ReadRunning(RunningFile(folder, "b"), "-valid", NewWords())
	mustName(t, err, "b.txt: there is no such file; -valid names it", "wiki.NAME.tokens", ".zst")
	for path, want := range map[string]string{
		filepath.Join(folder, "b"):      "b: there is no such file; -terms names it; its folder holds a.txt",
		filepath.Join(folder, "b", "c"): "c: there is no folder " + filepath.Join(folder, "b") + "; -terms names it",
	} {
		_, err := usual.ReadLines(path, "-terms")
		if mustName(t, err, want); strings.Contains(err.Error(), "-data") {
			t.Errorf("a file that is given by its path: %v", err)
		}
	}
}
