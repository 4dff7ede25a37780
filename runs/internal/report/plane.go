package report

import (
	"fmt"
	"image/color"
	"math"

	"github.com/aperture-ml/aperture/runs/internal/chart"
)

// Plane is where words lie in the plane of two directions.
type Plane struct {
	X, Y   []float64
	Class  []int      // of frequency: 0 for the ranks up to 10, 1 up to 100, and so on
	Shares [2]float64 // of the sum of squares along each axis
}

// classColours go from dark, frequent words to light, rare ones.
var classColours = []color.RGBA{{0, 0, 0, 255}, {90, 15, 110, 255}, {188, 55, 84, 255}, {249, 142, 9, 255},
	{150, 205, 190, 255}}

var zeroColour = color.RGBA{0, 160, 255, 255}

// NewPlane holds rows of order, which lists them by falling frequency, with coordinates x and y of all rows. Of each
// class it takes at most a number of them, at equal distances: more would hide each other.
func NewPlane(x, y []float64, shares [2]float64, order []int, most int) (p Plane) {
	p.Shares = shares
	for first, class, last := 0, 0, 10; first < len(order); class, last = class+1, 10*last {
		members := order[first:min(last, len(order))]
		n := min(most, len(members))
		for k := range n {
			row := members[k*len(members)/n]
			p.X, p.Y, p.Class = append(p.X, x[row]), append(p.Y, y[row]), append(p.Class, class)
		}
		first += len(members)
	}
	return p
}

// Chart draws the words, frequent ones over rare ones, and the zero vector.
func (p Plane) Chart(title string) *chart.Chart {
	c := chart.New(title, fmt.Sprintf("first direction, %.1f %% of the squares", 100*p.Shares[0]),
		fmt.Sprintf("second, %.1f %%", 100*p.Shares[1]))
	c.Width, c.Square = 360, true
	for class := len(classColours) - 1; class >= 0; class-- {
		name := fmt.Sprintf("ranks up to %.0f", math.Pow10(class+1))
		if class == len(classColours)-1 {
			name = "rarer words"
		}
		dots := chart.Series{Name: name, Kind: chart.Dots, Colour: classColours[class],
			Size: 1.2 + 0.35*float64(len(classColours)-1-class)}
		for i, member := range p.Class {
			if min(member, len(classColours)-1) == class {
				dots.X, dots.Y = append(dots.X, p.X[i]), append(dots.Y, p.Y[i])
			}
		}
		c.Add(dots)
	}
	c.Add(chart.Series{Name: "zero vector", Kind: chart.Dots, Colour: zeroColour, Size: 4, X: []float64{0},
		Y: []float64{0}})
	return c
}
