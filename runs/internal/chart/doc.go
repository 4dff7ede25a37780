// Package chart draws lines, staircases, bands and dots on two axes, as SVG and as PNG.
//
// # Basics
//
//	c := chart.New("Validation loss", "updates", "nats per token")
//	c.Add(chart.Series{Name: "mle", Colour: chart.Hue(0), X: steps, Y: mean, Low: low, High: high})
//	page.WriteString(c.SVG())
//
// # Caveats
//
// Points that cannot be drawn (NaN, above Largest, or not positive on a logarithmic axis) are left out, and a line goes
// on after them. Empty tells of a chart without any point.
package chart
