package align

import (
	"fmt"
	"strconv"
	"strings"
)

// Link says that two words of a pair translate each other: their places, counted from 0.
type Link struct{ Source, Target int32 }

// Format writes links as fast_align and Moses do, "0-0 1-2", in the order given.
func Format(links []Link) string {
	var b []byte
	for i, l := range links {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, int64(l.Source), 10)
		b = append(b, '-')
		b = strconv.AppendInt(b, int64(l.Target), 10)
	}
	return string(b)
}

// longest is a place that no sentence has: it bounds what a bad line can ask of memory.
const longest = 1 << 16

// Parse reads what Format wrote.
func Parse(line string) ([]Link, error) {
	var links []Link
	for _, field := range strings.Fields(line) {
		source, target, found := strings.Cut(field, "-")
		i, err := strconv.ParseUint(source, 10, 31)
		j, other := strconv.ParseUint(target, 10, 31)
		if !found || err != nil || other != nil || i >= longest || j >= longest {
			return nil, fmt.Errorf("%.80q is no link: a link is two places below %d, as 3-4", field, longest)
		}
		links = append(links, Link{int32(i), int32(j)})
	}
	return links, nil
}
