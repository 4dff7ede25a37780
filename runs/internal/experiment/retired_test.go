package experiment

import (
	"strings"
	"testing"
)

// Configurations of earlier versions are read where what they say of a key that is gone is what all do now.
func TestRetiredKeys(t *testing.T) {
	const section = "[objective]\nalpha = 0.5\n"
	if err := layText(newLayers(), section+"adversarial_gate = false\nadversarial_radius = \"adaptive\"\n",
		"config.toml", false); err != nil {
		t.Error(err)
	}
	err := layText(newLayers(), section+"adversarial_gate = true\n", "config.toml", false)
	if err == nil || !strings.Contains(err.Error(), "unknown key objective.adversarial_gate") {
		t.Errorf("another value gives %v", err)
	}
}
