package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// availableMemory is how many bytes programs can still take without swapping, as
// the kernel estimates it.
func availableMemory() (int64, error) {
	const path = "/proc/meminfo"
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kilobytes int64
		if _, err := fmt.Sscanf(strings.TrimSpace(lines.Text()), "MemAvailable: %d kB", &kilobytes); err == nil {
			return kilobytes << 10, nil
		}
	}
	return 0, fmt.Errorf("%s does not say how much memory is available", path)
}

// fits says in one sentence that a peer needs more memory than there is, before the
// kernel ends some process for it.
func fits(row string, needed, available int64, remedy string) error {
	if needed <= available {
		return nil
	}
	return fmt.Errorf("the peer of %s needs %.1f GB of memory and %.1f are available: %s", row, float64(needed)/1e9, float64(available)/1e9, remedy)
}
