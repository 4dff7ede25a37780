package main

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// dimension is a key that is searched.
type dimension struct {
	key       string
	values    []string // as -set takes them; nil for a range
	low, high float64
	log       bool // a range on a logarithmic scale
	whole     bool // of whole numbers
}

// dimensions reads a section's keys, in their alphabetical order. A dotted key may stand in quotes or not.
func dimensions(section any, where string) ([]dimension, error) {
	if section == nil {
		return nil, nil
	}
	table, ok := section.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is no section of keys", where)
	}
	all, err := dimensionsIn("", table)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	return all, nil
}

// dimensionsIn reads the keys of a table whose names begin with a prefix.
func dimensionsIn(prefix string, table map[string]any) (all []dimension, err error) {
	for _, name := range slices.Sorted(maps.Keys(table)) {
		found, err := dimensionsOf(prefix+name, table[name])
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func dimensionsOf(key string, value any) ([]dimension, error) {
	table, isTable := value.(map[string]any)
	_, uniform := table["uniform"]
	_, log := table["log"]
	switch {
	case !strings.Contains(key, ".") && (!isTable || uniform || log):
		return nil, fmt.Errorf("%s is no key of a run: write its section too, as in train.%s", key, key)
	case strings.Count(key, ".") > 1:
		where := key[:strings.LastIndexByte(key, '.')]
		return nil, fmt.Errorf("%s "+wanted+": what is %s?", where, strings.TrimPrefix(key, where+"."))
	case uniform || log:
		d, err := interval(key, table)
		return []dimension{d}, err
	case isTable:
		return dimensionsIn(key+".", table)
	}
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has an empty list of values", key)
	}
	d := dimension{key: key}
	for _, v := range list {
		text, err := text(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		d.values = append(d.values, text)
	}
	return []dimension{d}, nil
}

const wanted = "wants a list of values, {uniform = [LOW, HIGH]} or {log = [LOW, HIGH]}"

// interval reads {log = [low, high]} or {uniform = [low, high]}.
func interval(key string, table map[string]any) (dimension, error) {
	d := dimension{key: key, whole: true}
	value := table["uniform"]
	if _, d.log = table["log"]; d.log {
		value = table["log"]
	}
	wrong := fmt.Errorf("%s "+wanted, key)
	ends, ok := value.([]any)
	if !ok || len(ends) != 2 || len(table) != 1 {
		return d, wrong
	}
	for i, to := range []*float64{&d.low, &d.high} {
		switch x := ends[i].(type) {
		case int64:
			*to = float64(x)
		case float64:
			*to, d.whole = x, false
		default:
			return d, wrong
		}
	}
	if !(d.low < d.high) {
		return d, fmt.Errorf("%s: the range from %g to %g is empty", key, d.low, d.high)
	}
	if d.log && d.low <= 0 {
		return d, fmt.Errorf("%s: a logarithmic range begins above 0, not at %g", key, d.low)
	}
	return d, nil
}

func text(value any) (string, error) {
	switch x := value.(type) {
	case string, int64, bool:
		return fmt.Sprint(x), nil
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64), nil
	case []any: // a list as one value
		parts := make([]string, len(x))
		for i, v := range x {
			part, err := text(v)
			if err != nil {
				return "", err
			}
			parts[i] = part
		}
		return strings.Join(parts, ","), nil
	}
	return "", fmt.Errorf("%v is no value of a key", value)
}

// draw is the value of the number-th of count trials. The range is cut into count equal parts, and each is drawn from
// once, in an order of the key's own (Latin hypercube sampling; McKay, Beckman and Conover 1979): a few independent
// draws often lie close together. Methods that share a key try the same values of it.
func (d dimension) draw(seed, number, count int) string {
	generator := func(of ...any) *rand.Rand {
		hash := fnv.New64a()
		fmt.Fprint(hash, of...)
		return rand.New(rand.NewPCG(uint64(seed), hash.Sum64()))
	}
	part := generator(d.key).Perm(count)[number]
	share := (float64(part) + generator(d.key, " ", number).Float64()) / float64(count)
	if d.values != nil {
		return d.values[min(int(share*float64(len(d.values))), len(d.values)-1)]
	}
	low, high := d.low, d.high
	if d.log {
		low, high = math.Log(low), math.Log(high)
	}
	if d.whole && !d.log {
		high++
	}
	x := low + share*(high-low)
	if d.log {
		x = math.Exp(x)
	}
	if d.whole {
		if d.log {
			x = math.Round(x)
		}
		return strconv.FormatFloat(min(math.Floor(x), d.high), 'f', 0, 64)
	}
	// Three digits are easy to copy, and finer than what a search can tell apart.
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', 3, 64), 64)
	return strconv.FormatFloat(min(max(x, d.low), d.high), 'g', -1, 64)
}

// setting is a key with its value.
type setting struct{ key, value string }

// point is what a trial sets.
type point []setting

func (p point) String() string {
	parts := make([]string, len(p))
	for i, s := range p {
		parts[i] = s.key + "=" + s.value
	}
	return strings.Join(parts, " ")
}

// grid lists all combinations of values, the last key changing fastest. Without keys there is one, the run as it is.
func grid(space []dimension) []point {
	all := []point{nil}
	for _, d := range space {
		var longer []point
		for _, p := range all {
			for _, v := range d.values {
				longer = append(longer, append(slices.Clip(p), setting{d.key, v}))
			}
		}
		all = longer
	}
	return all
}

// trial is one setting of a method, with the seed that it is searched with.
type trial struct {
	method string
	number int // from 1
	point  point
	seed   int
}

func (t trial) name() string { return fmt.Sprintf("%s-%03d", t.method, t.number) }

// trials are those of all methods, in turns, the same number of each; those that follow the control come after it. A
// point that comes again, as in a grid that is smaller than the largest, comes with the next seed: no method has fewer
// chances than another, and no run is made twice.
func (s *search) trials() []trial {
	count, points := 0, map[string][]point{}
	for _, m := range s.Methods {
		if s.Search == "grid" {
			points[m] = grid(s.space(m))
		} else {
			points[m] = make([]point, s.Trials)
			for n := range points[m] {
				for _, d := range s.space(m) {
					points[m][n] = append(points[m][n], setting{d.key, d.draw(s.Seed, n, s.Trials)})
				}
			}
		}
		count = max(count, len(points[m]))
	}
	var leading, following []trial
	times := map[string]int{}
	for n := range count {
		for _, m := range s.Methods {
			p := points[m][n%len(points[m])]
			times[m+" "+p.String()]++
			t := trial{m, n + 1, p, times[m+" "+p.String()]}
			if s.follows(m) {
				following = append(following, t)
			} else {
				leading = append(leading, t)
			}
		}
	}
	return append(leading, following...)
}
