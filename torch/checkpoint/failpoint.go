package checkpoint

import (
	"os"
	"strconv"
	"strings"
	"sync"
)

// failpoint counts down to the point at which APERTURE_FAILPOINT ends the process.
var failpoint struct {
	once  sync.Once
	name  string
	count int
}

// observe gets every point that is reached; tests replace it.
var observe = func(point string) {}

// reach marks a point of the save sequence. Where APERTURE_FAILPOINT names it, the
// process ends there as by a power switch: no deferred call and no buffer survives.
func reach(point string) {
	observe(point)
	failpoint.once.Do(func() {
		name, count, _ := strings.Cut(os.Getenv("APERTURE_FAILPOINT"), ":")
		failpoint.name = name
		failpoint.count, _ = strconv.Atoi(count)
		failpoint.count = max(failpoint.count, 1)
	})
	if point != failpoint.name {
		return
	}
	if failpoint.count--; failpoint.count == 0 {
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			self.Kill()
		}
		select {} // the signal may need a moment to arrive
	}
}
