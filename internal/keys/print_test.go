package keys_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/internal/keys"
)

// What is printed explains each key, and leaves out what the task does not read.
func TestPrint(t *testing.T) {
	c := schema.Defaults()
	c.Data.Dir = "/here"
	want := `# What it is called.
name = ""

[data]
# Folder of the texts.
dir = "/here"

[train]
# Learning rate (a number above 0; default 5e-4).
rate = 0.0005
# Updates (a whole number of at least 0; default 1_000).
max_steps = 1000
# Optimizer (one of adam, sgd; default adam).
kind = "adam"
# Whether it lags (default true).
lag = true
`
	if diff := cmp.Diff(want, schema.Print(&c, "language model")); diff != "" {
		t.Error(diff)
	}
}

// What is printed is read back as the same values, whatever texts and numbers there are.
func TestPrintRoundTrip(t *testing.T) {
	for _, text := range []string{"", "plain", `a "b" \ c`, "tab\tbell\a nul\x00 del\x7f", "two\nlines\r", "ä 日本",
		"# no comment", "'", `"""`} {
		for _, number := range []float64{0, 1, -1, 1e-9, 1.0 / 3, 30, 1e21, -10, 5e-324, 123456789.5} {
			c := ofKinds.Defaults()
			c.Text, c.List, c.Real, c.Whole, c.Flag = text, []string{text, "b", text}, number, -7, true
			printed := ofKinds.Print(&c, "")
			tree, err := keys.Parse(printed, "printed")
			if err != nil {
				t.Fatalf("%v:\n%s", err, printed)
			}
			back := ofKinds.Defaults()
			given, err := ofKinds.Lay(&back, tree, "printed", false)
			if err != nil {
				t.Fatalf("%v:\n%s", err, printed)
			}
			if len(given) != len(ofKinds.Keys()) {
				t.Errorf("%d keys were printed: %q", len(given), given)
			}
			if diff := cmp.Diff(c, back); diff != "" {
				t.Errorf("read back otherwise (-printed +read):\n%s", diff)
			}
		}
	}
}
