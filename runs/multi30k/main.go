// Command multi30k trains English-German translation on Multi30k, or on the built-in sample.
package main

import "github.com/aperture-ml/aperture/runs/internal/train"

func main() { train.Main("multi30k") }
