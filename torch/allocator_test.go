package torch_test

import (
	"os"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestHugePages looks for the mark of memory that asked for huge pages, which a kernel keeps whether it has any to give or not.
func TestHugePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("this kernel has no transparent huge pages")
	}
	torch.Test(t, func() {
		x := torch.Zeros(torch.Float32, torch.CPU, 4<<20)
		defer torch.Free(x)
		maps, err := os.ReadFile("/proc/self/smaps")
		if err != nil {
			t.Fatal(err)
		}
		heap := false
		for line := range strings.Lines(string(maps)) {
			if first, _, _ := strings.Cut(line, " "); !strings.HasSuffix(first, ":") {
				heap = strings.HasSuffix(line, "[heap]\n")
			}
			if flags, found := strings.CutPrefix(line, "VmFlags:"); found && heap && strings.Contains(flags, " hg") {
				return
			}
		}
		t.Error("no part of the heap is marked for huge pages")
	})
}
