package output

import (
	"testing"

	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
)

// The defaults of a configuration are those of the output layer.
func TestDefaults(t *testing.T) {
	got := Settings(experiment.Default())
	got.LabelSmoothing = 0 // part of translation, not of a method
	if want := objectives.Defaults(); got != want {
		t.Errorf("a configuration has %+v, the output layer %+v", got, want)
	}
}
