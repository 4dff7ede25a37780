package main

import "testing"

// A corpus gets the preset that is named after a size like its own, and each of these is there.
func TestPresetFor(t *testing.T) {
	for pairs, want := range map[int]string{1: "10k", 10_000: "10k", 60_000: "10k", 60_001: "200k", 200_000: "200k", 1_000_000: "200k", 1_000_001: "5m", 5_000_000: "5m"} {
		got := presetFor(pairs)
		if _, err := presets.Open(got + ".toml"); got != want || err != nil {
			t.Errorf("%d pairs get %s (%v), want %s", pairs, got, err, want)
		}
	}
}
