package main

import (
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// FuzzSearch: a file of a sweep gives trials, their number bounded, or a sentence.
func FuzzSearch(f *testing.F) {
	for _, text := range []string{
		"command = \"ptb\"\n[keys]\ntrain.learning_rate = {log = [0.001, 0.1]}\n",
		"command = \"ptb\"\nsearch = \"grid\"\n[keys]\nmodel.width = [1, 2]\nmodel.dropout = [0.1, 0.2]\n", "", "command = 3\n",
		"command = \"x\"\nmethods = [\"a\", \"a\"]\n", "command = \"x\"\ntrials = 100000\n[keys]\na.b = {uniform = [1, 2]}\n",
		"command = \"x\"\n[keys]\na.b = {uniform = [nan, 2]}\n", "command = \"x\"\n[keys]\na.b = {log = [0, inf]}\n",
		"command = \"x\"\n[method.mle]\n\"a\\u001b.b\" = []\n", "command = \"x\"\nargs = [\"-seed=\\n3\"]\n",
		"command = \"x\"\nsearch = \"grid\"\n[keys]\n" +
			"a.a = [1,2,3,4,5,6,7,8,9]\na.b = [1,2,3,4,5,6,7,8,9]\na.c = [1,2,3,4,5,6,7,8,9]\na.d = [1,2,3,4,5,6,7,8,9]\n" +
			"a.e = [1,2,3,4,5,6,7,8,9]\na.f = [1,2,3,4,5,6,7,8,9]\na.g = [1,2,3,4,5,6,7,8,9]\na.h = [1,2,3,4,5,6,7,8,9]\n",
		"command = \"x\"\n[keys]\na.b = {uniform = [-9223372036854775808, 9223372036854775807]}\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var s *search
		if fixtures.Promise(t, 20*len(text), func() (err error) { s, err = parseSearch(text, "sweep.toml"); return err }) != nil {
			return
		}
		if s.Trials > 1000 {
			s.Trials = 10
		}
		for _, trial := range s.trials() {
			if len(trial.point) > len(text) {
				t.Errorf("%d settings of %q", len(trial.point), text)
			}
		}
	})
}
