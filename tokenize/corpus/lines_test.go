package corpus

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// usual are the limits where no key sets others.
var usual LineSettings

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadLines(t *testing.T) {
	tests := []struct {
		name, content string
		want          []string
	}{
		{"last line feed", "a b\nc\n", []string{"a b", "c"}},
		{"no last line feed", "a b\nc", []string{"a b", "c"}},
		{"empty lines count", "\n\na\n\n", []string{"", "", "a", ""}},
		{"one carriage return goes", "a\r\nb\r\r\nc\r", []string{"a", "b\r", "c"}},
		{"other line ends stay", "a\u2028b\u0085c\vd\x1ce\rf\n", []string{"a\u2028b\u0085c\vd\x1ce\rf"}},
		{"byte order mark", "\ufeffä\n\ufeffb\n", []string{"ä", "\ufeffb"}},
		{"replacement character is valid", "a\ufffdb\n", []string{"a\ufffdb"}},
		{"longer than the buffer", strings.Repeat("ö", 100_000) + "\nb\n", []string{strings.Repeat("ö", 100_000), "b"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text, err := usual.ReadLines(write(t, "train.en", test.content), "-train")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, text.Lines); diff != "" {
				t.Error(diff)
			}
			sum := sha256.Sum256([]byte(test.content))
			if want := hex.EncodeToString(sum[:]); text.SHA256 != want {
				t.Errorf("sha256 %s, want %s", text.SHA256, want)
			}
		})
	}
}

// Lines that are chosen at equal distances keep their numbers.
func TestNumbersOfSome(t *testing.T) {
	var lines []string
	for i := range 23 {
		lines = append(lines, fmt.Sprint(i+1))
	}
	all := Parallel{Text{Lines: lines}, Text{Lines: lines}}
	for _, n := range []int{0, 1, 7, 22, 23} {
		some, err := all.Some(n, "n")
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range some.Target.Lines {
			if got := some.Target.Number(i + 1); fmt.Sprint(got) != line {
				t.Errorf("of %d lines, %d is called line %d, and is %s", n, i+1, got, line)
			}
		}
	}
}

func TestReadLinesErrors(t *testing.T) {
	bad := write(t, "train.en", "fine\nw\xc3\xa4re\xe4 so\n")
	empty := write(t, "valid.en", "")
	folder := t.TempDir()
	missing := filepath.Join(folder, "no.en")
	tests := []struct {
		name, path string
		want       []string
	}{
		{"not UTF-8", bad, []string{bad + ":2:", "byte 6", "0xe4", "iconv"}},
		{"empty", empty, []string{empty, "empty", "-train"}},
		{"missing", missing, []string{missing, "no such file", "-train", "its folder holds no files"}},
		{"folder", folder, []string{folder, "folder", "-train"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := usual.ReadLines(test.path, "-train")
			mustName(t, err, test.want...)
		})
	}
}

// mustName fails unless there is an error of one line that holds all parts.
func mustName(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error has several lines: %v", err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not name %q", err, part)
		}
	}
}

func TestMulti30kHash(t *testing.T) {
	text, err := usual.ReadLines(fixtures.Path(t, "multi30k/train.de"), "-train")
	if err != nil {
		t.Fatal(err)
	}
	if len(text.Lines) != 29000 || !strings.HasPrefix(text.SHA256, "2c2b73fd2b548fbc") {
		t.Errorf("%d lines, sha256 %s", len(text.Lines), text.SHA256)
	}
}

// A packed file may be small and its line endless: every reader refuses it by its number while its memory is small, and
// tells the key with which a text that is one long line is read after all.
func TestLongLine(t *testing.T) {
	const size = 1 << 26
	long := strings.Repeat("x ", size/2)
	folder := put(t, map[string]string{
		"train.en.zst": fixtures.Zstandard(t, "a\n"+long+"\n"), "train.de": "a\nb\n",
		"both.en-de.tsv.zst": fixtures.Zstandard(t, "a\tb\n"+long+"\tb\n"),
	})
	path := filepath.Join(folder, "train.en")
	cache := StoreSettings{Store: filepath.Join(folder, "store")}.Cache()
	for name, read := range map[string]func(s LineSettings) error{
		"ReadLines":   func(s LineSettings) error { _, err := s.ReadLines(path, "-train"); return err },
		"ReadRunning": func(s LineSettings) error { _, err := s.ReadRunning(path, "-train", NewWords()); return err },
		"SumRunning":  func(s LineSettings) error { _, err := cache.SumRunning(s, path, "-train"); return err },
		"OpenParallel": func(s LineSettings) error {
			_, err := cache.OpenParallel(limited(folder, "train", s), "-train")
			return err
		},
		"ReadParallel": func(s LineSettings) error {
			_, err := ReadParallel(limited(folder, "both", s), "-train")
			return err
		},
	} {
		for _, s := range []LineSettings{{}, {MaxLine: size / 10}} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := read(s)
			runtime.ReadMemStats(&after)
			mustName(t, err, ".zst:2: this line has more than ", strconv.Itoa(s.Limit())+" bytes",
				"raise data.max_line")
			if took := after.TotalAlloc - before.TotalAlloc; took > size {
				t.Errorf("%s with at most %d bytes a line took %d bytes", name, s.Limit(), took)
			}
		}
		if err := read(LineSettings{size + 2}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := read(LineSettings{}); err == nil { // what a cache remembers of another limit is no answer
			t.Errorf("%s took the line after it was read with another limit", name)
		}
	}
}

func limited(folder, name string, s LineSettings) PairName {
	return PairName{Folder: folder, Name: name, Source: "en", Target: "de", LineSettings: s}
}

// Many lines of the greatest length are a block each few, whatever their number, and every line comes.
func TestBlocksOfLongLines(t *testing.T) {
	line := strings.Repeat("x", 900_000)
	folder := put(t, map[string]string{"train.en.gz": fixtures.Gzip(t, strings.Repeat(line+"\n", 100)),
		"train.de": strings.Repeat("y\n", 100)})
	p, err := StoreSettings{Store: "none"}.Cache().OpenParallel(limited(folder, "train", usual), "-train")
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	memory := Text{Lines: make([]string, 100)}
	worker := func() (func([][]string) (int, error), error) {
		return func(lines [][]string) (int, error) {
			if n := len(lines[0]); n > 6 || len(lines[1]) != n || len(lines[2]) != n || len(lines[0][0]) != len(line) ||
				lines[1][n-1] != "y" {
				t.Errorf("a block of %d, %d and %d lines", n, len(lines[1]), len(lines[2]))
			}
			return len(lines[0]), nil
		}, nil
	}
	err = Blocks([]Text{p.Source, p.Target, memory}, worker, func(n int) error { total += n; return nil })
	if err != nil || total != 100 {
		t.Errorf("%d lines, %v", total, err)
	}
}
