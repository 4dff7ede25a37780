package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/aperture-ml/aperture/models/translation"
)

// sweepSizes are the batches of figure 1, in sentences. From largeBatch on a single step is timed, which the smaller ones before
// it have warmed up.
var sweepSizes = []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}

const largeBatch = 64

// sweep measures one output layer with batches of every size that memory holds.
func (n table4Size) sweep(b *bench, l outputLayer) (*race, error) {
	return n.measured(l, func(ctx context.Context, built *translation.Translator, t *trainer) (result, error) {
		c, best := l.parameters(built), 0.0
		for _, rows := range sweepSizes {
			available, err := availableMemory()
			if err != nil {
				return result{}, err
			}
			if needed := stepBytes(built, rows); needed > available {
				fmt.Fprintf(b.log, "sweep/%s: a batch of %d is left out: it takes about %.1f GB, and %.1f are available\n", l.name, rows, float64(needed)/1e9, float64(available)/1e9)
				c.Sweep = append(c.Sweep, batchSpeed{Rows: rows, LeftOut: true})
				continue
			}
			warm, steps := 1, layerSteps
			if rows >= largeBatch {
				warm, steps = 0, 1
			}
			speed, err := n.speed(ctx, b, t, rows, warm, steps)
			if err != nil {
				return result{}, err
			}
			c.Sweep, best = append(c.Sweep, batchSpeed{Rows: rows, PerS: speed}), max(best, speed)
		}
		return result{Ours: best, Layer: c, Config: n.describe(sweepSizes[len(sweepSizes)-1])}, nil
	})
}

// stepBytes estimates what a step takes beyond weights and moments: gradients, and what the network keeps for them.
func stepBytes(t *translation.Translator, rows int) int64 {
	return 4 * (t.Params.Count() + t.Settings.Activations(rows*attentionalLong))
}

// printLayers prints table 4, and figure 1 as a table with a column for each output layer.
func printLayers(out io.Writer, results []result) error {
	swept := func(r result) bool { return r.Layer.Sweep != nil }
	costs := slices.DeleteFunc(slices.Clone(results), swept)
	sweeps := slices.DeleteFunc(slices.Clone(results), func(r result) bool { return !swept(r) })
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	var biases []string
	for i, r := range costs {
		if i == 0 {
			fmt.Fprintln(w, "output\ttied\tloss\tinput-layer parameters\toutput-layer parameters\tms/batch\tsamples/s")
		}
		c, tied := r.Layer, "no"
		if c.Tied {
			tied = "yes"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%.0f\t%.1f\n", c.Output, tied, c.Loss, shortCount(c.InputParameters), shortCount(c.OutputParameters), c.MsPerBatch, r.Ours)
		biases = append(biases, fmt.Sprintf("%s %d", strings.TrimPrefix(r.Name, "layers/"), c.Biases))
	}
	if len(costs) > 0 {
		fmt.Fprintf(w, "Biases, which do not count above: %s. A batch: %s.\n", strings.Join(biases, ", "), costs[0].Config)
	}
	if len(sweeps) > 0 {
		fmt.Fprint(w, "samples/s of a batch of")
		for _, r := range sweeps {
			fmt.Fprint(w, "\t", strings.TrimPrefix(r.Name, "sweep/"))
		}
		fmt.Fprintln(w)
		for i, size := range sweepSizes {
			fmt.Fprint(w, size)
			for _, r := range sweeps {
				if s := r.Layer.Sweep[i]; s.LeftOut {
					fmt.Fprint(w, "\tno memory")
				} else {
					fmt.Fprintf(w, "\t%.1f", s.PerS)
				}
			}
			fmt.Fprintln(w)
		}
	}
	return w.Flush()
}

// shortCount is a number in the table's way: 25.6M, 307.2K.
func shortCount(n int64) string {
	if n >= 1e6 {
		return strconv.FormatFloat(float64(n)/1e6, 'f', -1, 64) + "M"
	}
	return strconv.FormatFloat(float64(n)/1e3, 'f', -1, 64) + "K"
}
