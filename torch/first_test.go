package torch_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Threads sleep soon from the start of the process, unless its user says otherwise. libgomp prints what it has read.
func TestThreadsSleepSoon(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	environment := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "GOMP_SPINCOUNT=") || strings.HasPrefix(v, "OMP_WAIT_POLICY=")
	})
	count := regexp.MustCompile(`GOMP_SPINCOUNT = '([^']*)'`)
	for own, want := range map[string]string{"": "^2000$", "GOMP_SPINCOUNT=77": "^77$",
		"OMP_WAIT_POLICY=active": "^[0-9]{5,}$"} {
		c := exec.Command(self, "-test.run=^$")
		c.Env = append(slices.Clone(environment), "OMP_DISPLAY_ENV=verbose")
		if own != "" {
			c.Env = append(c.Env, own)
		}
		said, err := c.CombinedOutput()
		// More than one answer would mean that the program started anew.
		if found := count.FindAllSubmatch(said, -1); err != nil || len(found) != 1 ||
			!regexp.MustCompile(want).Match(found[0][1]) {
			t.Errorf("with %q libgomp reads %q (%v), want %s", own, found, err, want)
		}
	}
}

// libtorch's operators are registered in a heap of huge pages, where the kernel has them for those who ask.
func TestHeapOfHugePages(t *testing.T) {
	ofCPU(t)
	enabled, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil || strings.Contains(string(enabled), "[never]") {
		t.Skipf("the kernel has no huge pages: %v, %q", err, enabled)
	}
	if strings.Contains(os.Getenv("LD_PRELOAD"), "asan") {
		t.Skip("AddressSanitizer has a heap of its own")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, "-test.run=^$")
	if said, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if faults := c.ProcessState.SysUsage().(*syscall.Rusage).Minflt; faults > 10000 {
		t.Errorf("a process had %d page faults before it did anything", faults)
	}
}
