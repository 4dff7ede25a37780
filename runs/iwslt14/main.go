// Command iwslt14 trains German-English translation on IWSLT14, or on the built-in sample.
package main

import "github.com/aperture-ml/aperture/runs/internal/train"

func main() { train.Main("iwslt14") }
