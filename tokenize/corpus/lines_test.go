package corpus

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/internal/testdata"
)

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
			text, err := ReadLines(write(t, "train.en", test.content), "-train")
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
		{"missing", missing, []string{missing, "no such file", "-train", "-data"}},
		{"folder", folder, []string{folder, "folder", "-train"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := ReadLines(test.path, "-train")
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
	text, err := ReadLines(testdata.Path(t, "multi30k/train.de"), "-train")
	if err != nil {
		t.Fatal(err)
	}
	if len(text.Lines) != 29000 || !strings.HasPrefix(text.SHA256, "2c2b73fd2b548fbc") {
		t.Errorf("%d lines, sha256 %s", len(text.Lines), text.SHA256)
	}
}
