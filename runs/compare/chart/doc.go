// Package chart draws line charts, staircases, bands and dots as SVG, to stand inline in a page of HTML or as a file of its own.
//
// # Basics
//
//	c := chart.Chart{Title: "Validation loss", X: chart.Axis{Label: "updates"}, Y: chart.Axis{Label: "nats per token"}}
//	c.Add(chart.Series{Name: "mle", Hue: 0, X: steps, Y: mean, Low: low, High: high})
//	page.WriteString(c.SVG())
//
// # Caveats
//
// Points that cannot be drawn (NaN, infinite, and what is not positive on a logarithmic axis) are left out, and a line goes on
// after them. A chart without any point draws nothing: Empty tells.
package chart
