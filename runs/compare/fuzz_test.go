package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// FuzzScores reads tables that -forest draws and -claims judges.
func FuzzScores(f *testing.F) {
	for _, text := range []string{"method,measure,values\nmle,test.x.nll,1 2 3\ncosreg,test.x.nll,1  3\n",
		"method,measure,values\nmle,test.x.nll,1 2 3\ncosreg,test.x.nll,1 2\n", "method,measure,values\nmle,c,\nx,c,\n", "", "a,b\n", "\"", "method,measure,values\na\n",
		"method,measure,values\n\"a\nb\",c,1e999\n", "method,measure,values\na,c,nan inf\n", "method,measure,values\n\x1b,\xff,x\x00\n"} {
		f.Add([]byte(text))
	}
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(folder, "scores.csv")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		fixtures.Promise(t, 2*len(data), func() error {
			all, err := readScores(path)
			for _, s := range all {
				s.against("mle")
			}
			return err
		})
	})
}

// FuzzClaims judges scores by a file of claims: a table of lines that are one line each, or an error.
func FuzzClaims(f *testing.F) {
	scores := []byte("method,measure,values\nmle,test.x.bleu,1 2 4\ncosreg,test.x.bleu,2 4 5\nspectrum,test.x.bleu,2 2 2\n")
	for _, text := range []string{claimed, "control = \"mle\"\n", strings.Replace(claimed, "0.5", "nan", 1),
		strings.Replace(claimed, "6 =", "3 =", 1), strings.Replace(claimed, "a text", "a\\n\\u001b[2J|", 1), "[[endpoint]]\n", "\xff"} {
		f.Add([]byte(text), scores)
	}
	f.Add([]byte(claimed), []byte("method,measure,values\nmle,test.x.bleu,1e300 -1e300\ncosreg,test.x.bleu,1 1\nspectrum,test.x.bleu,0 0\n"))
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, text, scores []byte) {
		file, table := filepath.Join(folder, "claims.toml"), filepath.Join(folder, "all.csv")
		for path, data := range map[string][]byte{file: text, table: scores} {
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		fixtures.Promise(t, 20*(len(text)+len(scores)), func() error {
			c, err := readClaims(file)
			if err != nil {
				return err
			}
			judged, note, err := c.judge([]string{table})
			if lines := strings.Count(judged.Markdown(), "\n"); err == nil && (lines != len(judged.Rows)+2 || strings.Contains(note, "\n")) {
				t.Errorf("%d lines of %d rows:\n%s%s", lines, len(judged.Rows), judged.Markdown(), note)
			}
			return err
		})
	})
}
