package prepare

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/tokenize"
)

// What is written raw becomes, by the steps that a run takes, what the published scripts make with Moses itself.
func TestAsThePublishedScripts(t *testing.T) {
	data, err := os.ReadFile("testdata/scripts.json")
	if err != nil {
		t.Fatal(err)
	}
	var corpora map[string]struct{ Inputs, Expected map[string]string }
	if err := json.Unmarshal(data, &corpora); err != nil {
		t.Fatal(err)
	}
	for corpus, golden := range corpora {
		from := t.TempDir()
		for name, text := range golden.Inputs {
			fixtures.Put(t, from, name, text)
		}
		if corpus == "wmt14" { // the golden text ends before the test set
			for _, name := range []string{"newstest2014-deen-src.en.sgm", "newstest2014-deen-ref.de.sgm"} {
				fixtures.Put(t, from, name, fixtures.SGM([]string{"x"}))
			}
		}
		_, to := mustRun(t, corpus, from, nil)
		for name, want := range golden.Expected {
			language := name[strings.Index(name, ".")+1:]
			moses, err := tokenize.NewMoses(tokenize.MosesOptions{Language: language, Aggressive: corpus == "wmt14"})
			if err != nil {
				t.Fatal(err)
			}
			normalizer := tokenize.NewNormalizer(language, tokenize.MosesCurrent)
			var got []string
			expected := lines(want)
			for i, line := range expected {
				if strings.TrimSpace(line) == "" { // Moses echoes blank lines, of whatever blanks they are
					expected[i] = ""
				}
			}
			for _, line := range lines(fixtures.Read(t, to, name)) {
				if corpus == "wmt14" {
					line = moses.Tokenize(tokenize.RemoveNonPrinting(normalizer.Normalize(line)))
				} else {
					line = tokenize.Lowercase(moses.Tokenize(line))
				}
				if strings.TrimSpace(line) == "" {
					line = ""
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(expected, got); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", corpus, name, diff)
			}
		}
	}
}
