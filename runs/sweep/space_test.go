package main

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A few draws must lie all over a range: one in each of its equal parts, whatever the seed.
func TestDrawsCoverTheRange(t *testing.T) {
	const count = 5
	rate := dimension{key: "train.learning_rate", low: 0.001, high: 0.1, log: true}
	list := dimension{key: "model.dropout", values: []string{"0.1", "0.2", "0.3", "0.4", "0.5"}}
	orders := map[string]bool{}
	for seed := range 20 {
		var parts, values []string
		for n := range count {
			x, err := strconv.ParseFloat(rate.draw(seed, n, count), 64)
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, strconv.Itoa(int(math.Log(x/rate.low)/math.Log(rate.high/rate.low)*count)))
			values = append(values, list.draw(seed, n, count))
		}
		orders[strings.Join(parts, " ")] = true
		slices.Sort(parts)
		slices.Sort(values)
		if got := strings.Join(parts, " "); got != "0 1 2 3 4" {
			t.Errorf("seed %d draws from the parts %s of the range, not from each once", seed, got)
		}
		if !slices.Equal(values, list.values) {
			t.Errorf("seed %d draws %v from %v", seed, values, list.values)
		}
	}
	if len(orders) < 10 {
		t.Errorf("20 seeds draw in %d orders: %v", len(orders), orders)
	}
}
