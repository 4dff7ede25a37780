package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/torch"
)

// Machine is what a row was measured on.
type Machine struct {
	Processor string   `json:"processor"`
	GPU       string   `json:"gpu,omitempty"` // where the work is done on one
	ISA       string   `json:"isa"`           // the instruction set of both sides
	Steal     *float64 `json:"steal"`         // the share of all processors' time that others got meanwhile
	Peak      *float64 `json:"peak_gflops"`   // of a matrix product, with the row's threads; null for rows that make none
}

// atWork looks at the machine while measure works on a device of it.
func atWork(device torch.Device, measure func() error) (Machine, error) {
	before := readStat()
	err := measure()
	return Machine{Processor: experiment.CPUModel(), GPU: torch.DeviceName(device), ISA: torch.ISA(), Steal: before.steal(readStat())}, err
}

const (
	peakSize  = 2048 // rows and columns of the matrices
	peakTries = 5
)

// peak is the best rate of several matrix products, in GFLOP/s, with the present threads.
func peak(device torch.Device, products torch.DType) float64 {
	return torch.PeakRate(device, products, peakSize, peakTries) / 1e9
}

// ticks are counts of time from /proc/stat, of all processors together.
type ticks struct{ all, stolen float64 }

func readStat() ticks {
	data, _ := os.ReadFile("/proc/stat") // without it the steal is undefined
	return parseStat(string(data))
}

// parseStat reads the first line: user, nice, system, idle, iowait, irq, softirq, steal. What follows is counted in
// user and nice too.
func parseStat(text string) (t ticks) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return ticks{}
	}
	for _, field := range fields[1:9] {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return ticks{}
		}
		t.all, t.stolen = t.all+n, n
	}
	return t
}

// steal is the share that was stolen between two times; nil where it is not known.
func (t ticks) steal(later ticks) *float64 {
	if all := later.all - t.all; t.all > 0 && all > 0 {
		return defined((later.stolen - t.stolen) / all)
	}
	return nil
}

// printMachine says below a table what all its rows have in common.
func printMachine(out io.Writer, m Machine) error {
	gpu := ""
	if m.GPU != "" {
		gpu = "GPU: " + m.GPU + ". "
	}
	_, err := fmt.Fprintf(out, gpu+"Processor: %s, with %s. Steal is the share of its time that others had meanwhile; "+
		"peak is that of a matrix product of size %d, in GFLOP/s, "+
		"and ours of it what the products of our whole step reach.\n",
		m.Processor, m.ISA, peakSize)
	return err
}
