package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// FuzzScores reads tables that -forest draws.
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
