package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/objectives/measures"
)

// result is a measured row. Undefined values are null.
type result struct {
	Name            string   `json:"name"`
	TimeRatio       *spread  `json:"time_ratio"`   // peer's time / ours
	MemoryRatio     *float64 `json:"memory_ratio"` // our peak / peer's
	Ours            float64  `json:"ours"`
	Peer            *float64 `json:"peer"`
	Unit            string   `json:"unit"`
	Rate            *float64 `json:"gflops"`           // of our products, over all of our time
	OutsideProducts *float64 `json:"outside_products"` // share of our time, from a step that is not timed otherwise
	Config          string   `json:"config"`           // sizes of the work, where the name does not say them

	Machine
}

func defined(x float64) *float64 { return &x }

// spread is what is kept of several measurements.
type spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// spreadOf needs at least one value.
func spreadOf(values []float64) *spread {
	return &spread{Median: measures.Median(values), Min: slices.Min(values), Max: slices.Max(values)}
}

func printTable(out io.Writer, results []result) error {
	if len(results) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "name\ttime ratio\tmin\tmax\tmemory ratio\tours\tpeer\tunit\t"+
		"outside products\tsteal\tpeak\tours of it\tconfig")
	for _, r := range results {
		ratios := "-\t-\t-"
		if r.TimeRatio != nil {
			ratios = fmt.Sprintf("%.2f\t%.2f\t%.2f", r.TimeRatio.Median, r.TimeRatio.Min, r.TimeRatio.Max)
		}
		var reached *float64
		if r.Peak != nil && r.Rate != nil {
			reached = defined(*r.Rate / *r.Peak)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%.4g\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, ratios,
			cell("%.3f", r.MemoryRatio, 1), r.Ours,
			cell("%.4g", r.Peer, 1), r.Unit, cell("%.0f %%", r.OutsideProducts, 100), cell("%.1f %%", r.Steal, 100),
			cell("%.0f", r.Peak, 1), cell("%.0f %%", reached, 100), r.Config)
	}
	return errors.Join(w.Flush(), printMachine(out, results[0].Machine))
}

// cell is a value that may be undefined, times a factor.
func cell(format string, value *float64, factor float64) string {
	if value == nil {
		return "-"
	}
	return fmt.Sprintf(format, factor**value)
}

// writeJSON writes the results to a file; without a name it does nothing.
func writeJSON(path string, results []result) error {
	if path == "" {
		return nil
	}
	if results == nil {
		results = []result{}
	}
	text, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	return files.Write(path, append(text, '\n'))
}
