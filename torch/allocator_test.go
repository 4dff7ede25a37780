package torch_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestHugePages looks for the mark of memory that asked for huge pages, which a kernel keeps whether it has any to give
// or not: in the heap, or, where another allocator stands in its place as AddressSanitizer's does, in new memory.
func TestHugePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("this kernel has no transparent huge pages")
	}
	torch.Test(t, func() {
		const bytes = 16 << 20
		_, before := hugePages(t)
		x := torch.Zeros(torch.Float32, torch.CPU, bytes/4)
		defer torch.Free(x)
		if heap, after := hugePages(t); heap == 0 && after < before+bytes*3/4 {
			t.Errorf("no part of the heap is marked for huge pages, and %d bytes elsewhere, %d before", after, before)
		}
	})
}

// hugePages are the bytes that are marked for huge pages, of the heap and of other memory.
func hugePages(t *testing.T) (heap, other int64) {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	var begin, end int64
	inHeap := false
	for line := range strings.Lines(string(maps)) {
		if first, _, _ := strings.Cut(line, " "); !strings.HasSuffix(first, ":") {
			fmt.Sscanf(first, "%x-%x", &begin, &end)
			inHeap = strings.HasSuffix(line, "[heap]\n")
		}
		switch flags, found := strings.CutPrefix(line, "VmFlags:"); {
		case !found || !strings.Contains(flags, " hg"):
		case inHeap:
			heap += end - begin
		default:
			other += end - begin
		}
	}
	return heap, other
}

// TestProductsOfManyShapes: what oneDNN prepared for a shape is half a megabyte, and few are kept: 800 would take 500
// MB.
func TestProductsOfManyShapes(t *testing.T) {
	ofCPU(t)
	if !torch.HasBFloat16() {
		t.Skip("this processor or APERTURE_ISA has no AVX512_BF16, without which products in bfloat16 are prepared otherwise")
	}
	torch.Test(t, func() {
		draw := torch.NewStream(1, "test")
		w, x := draw.Normal(0, 1, torch.Float32, device, 64, 64), draw.Normal(0, 1, torch.Float32, device, 1000, 64)
		multiply := func(from, to int64) {
			for rows := from; rows < to; rows++ {
				torch.Autocast(true, device, func() { torch.Free(torch.Linear(x.Narrow(0, 0, rows), w, torch.Tensor{})) })
			}
		}
		multiply(1, 200)
		before := resident(t)
		multiply(200, 1000)
		if grown := resident(t) - before; grown > 250<<20 {
			t.Errorf("800 shapes took %d MB", grown>>20)
		}
	})
}

// resident is the memory of the process in bytes.
func resident(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// TestMemoryIsUsedAgain: blocks of one size, one after the other, take the memory of one, whatever small ones were made
// between them and stay.
func TestMemoryIsUsedAgain(t *testing.T) {
	ofCPU(t)
	if os.Getenv("ASAN_OPTIONS") != "" {
		t.Skip("AddressSanitizer keeps what is freed for a while")
	}
	torch.Test(t, func() {
		const bytes = 48 << 20
		before := resident(t)
		for range 12 {
			large := torch.Zeros(torch.Float32, device, bytes/4)
			torch.Zeros(torch.Float32, device, 2000) // stays until the end
			torch.Free(large)
		}
		if grown := resident(t) - before; grown > 3*bytes {
			t.Errorf("blocks of %d MB took %d MB", bytes>>20, grown>>20)
		}
	})
}
