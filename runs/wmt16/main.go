// Command wmt16 trains German-English translation on WMT16, or on the built-in sample.
package main

import "github.com/aperture-ml/aperture/runs/internal/train"

func main() { train.Main("wmt16") }
