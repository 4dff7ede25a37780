package train

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// units are settings of what the two languages' symbols are, with the types of their vocabularies, the four special
// ones included; 0 is all of them.
var units = map[string]struct {
	settings       []string
	source, target int
}{
	"words to words": {[]string{"-set=data.source_units=word", "-set=data.target_units=word",
		"-set=data.source_size=9", "-set=data.target_size=10"}, 13, 14},
	"words to pieces":  {[]string{"-set=data.source_units=word", "-set=data.source_size=9"}, 13, 0},
	"pieces to words":  {[]string{"-set=data.target_units=word", "-set=data.target_size=10"}, 0, 14},
	"pieces to pieces": {[]string{"-set=data.source_size=40", "-set=data.target_size=40"}, 44, 44},
	"words to vectors": {[]string{"-method=vmf", "-set=data.source_units=word", "-set=data.target_size=11",
		"-set=objective.vectors_width=9"}, 0, 15},
	"pieces to vectors": {[]string{"-method=vmf", "-set=data.target_size=11",
		"-set=objective.vectors_width=9"}, 0, 15},
	"words to vectors of a file": {[]string{"-method=maxmargin", "-set=data.source_units=word",
		"-set=data.target_size=5", "-vectors=words.vec"}, 0, 9},
	"truecased pieces": {[]string{"-set=data.tokenize=current", "-set=data.truecase=true"}, 0, 0},
	"truecased words, as published": {[]string{"-method=cosine", "-set=data.source_units=word",
		"-set=objective.vectors_width=9",
		"-set=data.tokenize=current", "-set=data.aggressive=true", "-set=data.escape=false", "-set=data.truecase=true"},
		0, 0},
}

// sentences gives the corpus of a workplace capitals, hyphens and full stops.
func sentences(t *testing.T, folder string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "corpus", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		var b strings.Builder
		for line := range strings.Lines(strings.ToLower(read(t, file))) {
			line = strings.Replace(strings.TrimSpace(line), "alte hund", "alt-hund", 1)
			first, size := utf8.DecodeRuneInString(line)
			b.WriteString(string(unicode.ToUpper(first)) + line[size:] + ".\n")
		}
		write(t, file, b.String())
	}
}

// Each choice of units trains, resumes to the same run, and translates from its folder alone as it did in the test,
// also where the training text is gone.
func TestUnits(t *testing.T) {
	for name, c := range units {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := workplace(t)
			vectorFile(t, folder)
			cased := strings.HasPrefix(name, "truecased")
			if cased {
				sentences(t, folder)
			}
			train(t, folder, append(c.settings, "-out=parts", "-steps=3")...)
			train(t, folder, append(c.settings, "-out=whole", "-steps=6")...)
			train(t, folder, append(c.settings, "-out=parts", "-steps=6", "-resume")...)
			same(t, folder, "whole", "parts")

			log := read(t, folder, "whole", "train.log")
			sizes := regexp.MustCompile(`vocabulary: (\d+) en, (\d+) de types`).FindStringSubmatch(log)
			for i, want := range []int{c.source, c.target} {
				if want > 0 && (sizes == nil || sizes[1+i] != fmt.Sprint(want)) {
					t.Errorf("the vocabularies are %q, want %d and %d types:\n%s", sizes, c.source, c.target, log)
				}
			}
			test, err := os.Open(filepath.Join(folder, "corpus", "test.en"))
			if err != nil {
				t.Fatal(err)
			}
			defer test.Close()
			for _, file := range []string{"corpus/train.en", "corpus/train.de", "words.vec"} {
				if err := os.Remove(filepath.Join(folder, file)); err != nil {
					t.Fatal(err)
				}
			}
			translate := exec.Command(translateBinary, "-run=parts", "-threads=1")
			translate.Dir, translate.Stdin = folder, test
			e := finish(t, translate)
			if e.code != 0 || e.stdout != read(t, folder, "whole", "samples", "test.de") {
				t.Errorf("translated from its folder, with exit code %d:\n%s%s\nin the run:\n%s", e.code, e.stdout,
					e.stderr, read(t, folder, "whole", "samples", "test.de"))
			}
			for line := range strings.Lines(e.stdout) {
				if cased && line != "\n" && !regexp.MustCompile(`^\PL*\p{Lu}`).MatchString(line) {
					t.Errorf("%q does not begin with a capital", line)
				}
			}
		})
	}
}

// A truecasing model that is gone or broken is named, and nothing of the run is lost.
func TestTruecasingModelOfARun(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	sentences(t, folder)
	settings := []string{"-set=data.tokenize=current", "-set=data.truecase=true", "-out=out"}
	mustRun(t, folder, append(settings, "-steps=2")...)
	model := filepath.Join(folder, "out", "tokenizer", "truecase.de")
	whole := read(t, model)
	if !strings.Contains(whole, "hund (") || strings.Contains(whole, "Hund") {
		t.Errorf("the model is\n%s", whole)
	}
	write(t, model, "hund\n")
	run(t, folder, append(settings, "-steps=3", "-resume")...).fails(t, "a broken model", 1, "truecase.de:1",
		"word (count/total)")
	if err := os.Remove(model); err != nil {
		t.Fatal(err)
	}
	run(t, folder, append(settings, "-steps=3", "-resume")...).fails(t, "no model", 1, "truecase.de",
		"there is no file")
	write(t, model, whole)
	mustRun(t, folder, append(settings, "-steps=3", "-resume")...)
}

// Units that do not go together are refused in one sentence, before anything is made.
func TestUnitsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	write(t, filepath.Join(folder, "words"), "der 3\n")
	for settings, parts := range map[string][]string{
		"data.source_units=word data.joint=true": {"data.joint = true shares byte-pair " +
			"pieces", `data.source_units = "bpe"`},
		"data.target_units=word data.joint=true": {"data.joint = true shares byte-pair " +
			"pieces", `data.target_units = "bpe"`},
		"data.source_units=char": {"data.source_units", "one of bpe, word"},
		"data.source_size=-1":    {"data.source_size", "at least 0"},
		"data.source_size=9": {"data.source_size = 9 and " +
			"data.target_size = 0 must be the same"},
		"data.lowercase=true data.truecase=true": {"data.truecase = true has nothing to do " +
			"where data.lowercase = true"},
		"data.joint=false data.target_vocabulary=words data.target_size=9": {"data.target_vocabulary",
			"data.target_size = 0"},
		"data.source_units=word data.target_units=word data.codes=words": {"data.codes splits words"},
	} {
		var arguments []string
		for one := range strings.FieldsSeq(settings) {
			arguments = append(arguments, "-set="+one)
		}
		run(t, folder, append(arguments, "-out=out")...).fails(t, settings, 2, parts...)
	}
	mustRun(t, folder, "-out=out", "-steps=2")
	run(t, folder, "-out=out", "-steps=3", "-resume", "-set=data.source_units=word").fails(t, "other units", 2,
		`a resumed run cannot change data.source_units from "bpe" to "word"`)
	run(t, folder, "-out=out", "-steps=3", "-resume", "-set=data.truecase=true").fails(t, "another case", 2,
		"a resumed run cannot change data.truecase from false to true")
	if _, err := os.Stat(filepath.Join(folder, "out", "results.json")); err != nil {
		t.Error(err)
	}
}

// A folder of a run that was made before these keys were there goes on as it began.
func TestFolderWithoutTheKeysOfUnits(t *testing.T) {
	t.Parallel()
	for _, settings := range [][]string{nil, {"-set=data.target_units=word"},
		{"-method=vmf", "-set=objective.vectors_width=9"}} {
		folder := workplace(t)
		mustRun(t, folder, append(settings, "-out=whole", "-steps=6")...)
		mustRun(t, folder, append(settings, "-out=parts", "-steps=3")...)
		config := filepath.Join(folder, "parts", "config.toml")
		before := regexp.MustCompile(`(?m)^(#.*\n)*(truecase|source_units|source_size|target_size) = .*\n`).ReplaceAllString(read(t, config), "")
		if strings.Contains(before, "source_units") || strings.Contains(before, "truecase") ||
			!strings.Contains(before, "target_units") {
			t.Fatalf("the configuration of then is\n%s", before)
		}
		write(t, config, before)
		mustRun(t, folder, append(settings, "-out=parts", "-steps=6", "-resume")...)
		same(t, folder, "whole", "parts")
	}
}
