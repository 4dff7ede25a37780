package keys

import (
	"math"
	"strconv"
	"strings"
)

// interval is a range of numbers in the usual notation: [0,1) holds 0 but not 1.
type interval struct {
	low, high         float64
	openLow, openHigh bool
}

// parseInterval reads a range tag; a malformed one contains nothing, so that the default of its key panics.
func parseInterval(text string) *interval {
	low, high, _ := strings.Cut(strings.Trim(text, "[]()"), ",")
	in := &interval{openLow: strings.HasPrefix(text, "("), openHigh: strings.HasSuffix(text, ")")}
	var errLow, errHigh error
	in.low, errLow = strconv.ParseFloat(low, 64)
	in.high, errHigh = strconv.ParseFloat(high, 64)
	if errLow != nil || errHigh != nil {
		return &interval{low: math.NaN(), high: math.NaN()}
	}
	return in
}

// Within reports whether x lies in a range such as "[0,1)", and says in words which numbers do: "of at least 0 ...".
func Within(limits string, x float64) (words string, yes bool) {
	in := parseInterval(limits)
	return in.String(), in.contains(x)
}

func (in *interval) contains(x float64) bool {
	return (x > in.low || x == in.low && !in.openLow) && (x < in.high || x == in.high && !in.openHigh)
}

func (in *interval) String() string {
	if in == nil {
		return ""
	}
	if math.IsInf(in.low, -1) {
		return "that is finite" // no key has a bound above alone
	}
	number := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	low := "of at least " + number(in.low)
	if in.openLow {
		low = "above " + number(in.low)
	}
	switch {
	case math.IsInf(in.high, 1):
		return low
	case in.openHigh:
		return low + " and below " + number(in.high)
	case in.openLow:
		return low + " and at most " + number(in.high)
	}
	return "from " + number(in.low) + " to " + number(in.high)
}
