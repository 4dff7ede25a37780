package models

import (
	"fmt"
	"math"

	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// PositionTable returns the vectors of sinusoidal positions, [longest + tokenize.Pad + 1, D]. Without other settings
// they are fairseq's: row p is [sin(p w_0) ... sin(p w_{h-1}), cos(p w_0) ... cos(p w_{h-1})] with h = D/2 and w_i =
// 10000^(-i/(h-1)); an odd D ends in a zero, and the row of padding is zero. The first token of a sentence has p = 2.
func (c Settings) PositionTable() []float64 {
	table := make([]float64, (c.MaxPositions+tokenize.Pad+1)*c.Width)
	c.sinusoids(table, 0)
	return table
}

// FairseqPositions says whether positions are the sinusoids of fairseq, which programs that import its models compute.
func (c Settings) FairseqPositions() bool {
	return c.Positions == "sinusoidal" && c.PositionOffset == 0 && c.Sinusoids != "paper"
}

// sinusoids fills a stretch of PositionTable, in which the given row is the first.
func (c Settings) sinusoids(stretch []float64, first int) {
	half, divisor := c.Width/2, c.Width/2-1
	if c.Sinusoids == "paper" {
		divisor = half
	}
	frequencies := make([]float64, half)
	for i := range frequencies {
		frequencies[i] = 1
		if half > 1 {
			frequencies[i] = math.Exp(-float64(i) * math.Log(10000) / float64(divisor))
		}
	}
	clear(stretch)
	for p := first; len(stretch) > 0; p++ {
		row := stretch[:c.Width]
		stretch = stretch[c.Width:]
		if p == tokenize.Pad {
			continue
		}
		for i, w := range frequencies {
			row[i], row[half+i] = math.Sincos(float64(p+c.PositionOffset) * w)
		}
	}
}

// positions adds a vector for each place in a sentence.
type positions struct {
	table   torch.Tensor // [longest + tokenize.Pad + 1, D]
	learned bool
	longest int
}

// fillRows gives a table [P,D] its values, some rows as float64 at a time; first is the place of a stretch's first row.
func fillRows(table_PD torch.Tensor, fill func(stretch []float64, first int)) {
	const atOnce = 1 << 17 // numbers
	n, width := int(table_PD.Size(0)), int(table_PD.Size(1))
	rows := min(n, 1+atOnce/width)
	stretch := make([]float64, rows*width)
	for from := 0; from < n; from += rows {
		rows = min(rows, n-from)
		fill(stretch[:rows*width], from)
		torch.ScopedNoGrad(func() {
			table_PD.Narrow(0, int64(from), int64(rows)).
				Assign(torch.FromFloat64s(stretch[:rows*width], table_PD.Device(), int64(rows), int64(width)))
		})
	}
}

func newPositions(in initialiser, name string, c Config) positions {
	longest, d := c.MaxPositions, int64(c.Width)
	n := longest + tokenize.Pad + 1
	if c.Positions == "learned" {
		x := in.stream.Normal(0, 1/math.Sqrt(float64(d)), in.dtype, in.device, int64(n), d)
		x.Narrow(0, tokenize.Pad, 1).Assign(torch.Zeros(in.dtype, in.device, 1, d))
		return positions{in.params.Add(name+".weight", x), true, longest}
	}
	// First the tensor: Go ends a program that has no memory, torch gives an error.
	table := torch.Zeros(in.dtype, in.device, int64(n), d)
	fillRows(table, c.sinusoids)
	torch.Keep(table)
	return positions{table, false, longest}
}

// lookup returns the vectors of positions counted as Tokens.positions does.
func (p positions) lookup(ids []int64, d torch.Device, shape ...int64) torch.Tensor {
	for _, id := range ids {
		if id > int64(p.longest+tokenize.Pad) {
			panic(&torch.Error{Op: "positions",
				Message: fmt.Sprintf("a sentence is longer than the model's %d positions: raise model.max_positions "+
					"or lower data.max_length", p.longest)})
		}
	}
	if p.learned {
		return torch.Embedding(p.table, torch.FromInt64s(ids, d, shape...), tokenize.Pad)
	}
	return p.table.IndexSelect(0, torch.FromInt64s(ids, d, int64(len(ids)))).Reshape(append(shape, -1)...)
}
