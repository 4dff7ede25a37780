package train

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// A run that is too short to translate says so, and what to raise; its report opens with the validation BLEU and its
// texts. However seldom it logs, it does so within ten updates, with speed and time left, and -quiet shows warnings
// alone.
func TestTooShort(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	arguments := []string{"-steps=12", "-set=train.log_every=100", "-set=train.learning_rate=1e-9"}
	e := mustRun(t, folder, append(arguments, "-out=too short", "-set=report.plots=true")...)
	const hint = "warning: this model does not translate yet (its validation BLEU is 0.00"
	for _, want := range []string{hint, "raise train.steps (-steps, now 12) and run again with -resume -out 'too short'",
		"update 10, ", " tokens/s, ", "s left\n", "output matrix: mean cosine ", ": word vectors ",
		"done: too short/report.html shows the run; to use the model: go run ./runs/translate -run 'too short' < raw.en\n"} {
		if !strings.Contains(e.stderr, want) {
			t.Errorf("the screen lacks %q:\n%s", want, e.stderr)
		}
	}
	if strings.Contains(e.stderr, "I1 ") {
		t.Errorf("the log has numbers without their meaning:\n%s", e.stderr)
	}
	page := read(t, folder, "too short", "report.html")
	for _, want := range []string{`<p class="doubt">this model does not translate yet`,
		"<th>validation BLEU, tokenised</th><td>0.00</td>",
		"en to de, 200 pairs to train on, 12 to validate, 8 to test"} {
		if !strings.Contains(page, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if lines := strings.Count(read(t, folder, "too short", "metrics.jsonl"), `"split":"train"`); lines != 1 {
		t.Errorf("metrics.jsonl has %d records of training, want 1: log_every is 100", lines)
	}
	quiet := mustRun(t, folder, append(arguments, "-out=quiet", "-quiet")...)
	for line := range strings.Lines(quiet.stderr) {
		if !strings.HasPrefix(line, "warning: ") {
			t.Errorf("-quiet shows %q", line)
		}
	}
	if log := read(t, folder, "quiet", "train.log"); !strings.Contains(quiet.stderr, hint) ||
		!strings.Contains(log, "update 10, ") {
		t.Errorf("-quiet shows %q and logs\n%s", quiet.stderr, log)
	}
	if files, _ := filepath.Glob(filepath.Join(folder, "quiet", "results.json")); len(files) != 1 {
		t.Error("a quiet run has no results")
	}
}

// Outputs are called alike where most are one line, and the references are not.
func TestMostlyOne(t *testing.T) {
	if got := mostlyOne("test", []string{"...", "a", "..."}, []string{"a", "b", "c"}); got != `2 of 3 translations of test are "..."` {
		t.Errorf("it says %q", got)
	}
	for _, alike := range [][2][]string{{{"a"}, {"b"}}, {{"a", "b"}, {"a", "b"}}, {{"a", "a", "a"}, {"x", "x", "x"}},
		{{"a", "a", "b", "c"}, {"a", "b", "c", "d"}}} {
		if got := mostlyOne("test", alike[0], alike[1]); got != "" {
			t.Errorf("%v: it says %q", alike, got)
		}
	}
}

// What a mean cosine means is said for all of its range.
func TestConeWords(t *testing.T) {
	for cosine, want := range map[float64]string{0.9: "narrow cone", 0.2: "narrow cone", 0.1: "lean one way",
		0.01: "all directions", -0.1: "all directions"} {
		if got := coneWords(cosine); !strings.Contains(got, want) {
			t.Errorf("%g: %s", cosine, got)
		}
	}
	if !strings.Contains(coneWords(math.NaN()), "not known") {
		t.Errorf("no cosine: %s", coneWords(math.NaN()))
	}
}
