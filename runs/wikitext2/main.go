// Command wikitext2 trains a language model on WikiText-2, or on the built-in sample.
package main

import "github.com/aperture-ml/aperture/runs/internal/train"

func main() { train.Main("wikitext2") }
