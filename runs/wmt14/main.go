// Command wmt14 trains English-German translation on WMT14, or on the built-in sample.
package main

import "github.com/aperture-ml/aperture/runs/internal/train"

func main() { train.Main("wmt14") }
