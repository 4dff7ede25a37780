package main

import (
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestSteal: the share of the time between two looks at /proc/stat, over all processors.
func TestSteal(t *testing.T) {
	before := parseStat("cpu  100 0 50 800 10 0 0 40 7 0\ncpu0 100 0 50 800 10 0 0 40 7 0\n")
	after := parseStat("cpu  150 5 65 900 10 0 0 70 9 0\n")
	if got := before.steal(after); got == nil || *got != 0.15 {
		t.Errorf("the share is %v", got)
	}
	for _, bad := range []string{"", "cpu 1 2 3\n", "cpu  1 2 x 4 5 6 7 8\n", "intr 1 2 3 4 5 6 7 8 9\n"} {
		if got := parseStat(bad).steal(after); got != nil {
			t.Errorf("%q gives %v", bad, *got)
		}
	}
	if got := after.steal(after); got != nil {
		t.Errorf("no time has passed and the share is %v", *got)
	}
}

func TestPeak(t *testing.T) {
	torch.Test(t, func() {
		if got := peak(torch.CPU, torch.Float32); !(got > 0.1 && got < 1e5) {
			t.Errorf("a product runs at %g GFLOP/s", got)
		}
	})
	m, err := atWork(torch.CPU, func() error { return nil })
	if err != nil || m.Processor == "" || m.ISA != torch.ISA() || m.Peak != nil {
		t.Errorf("the machine is %+v, %v", m, err)
	}
}
