// Command wikitext103 trains a language model on WikiText-103, or on the built-in sample.
package main

import "github.com/aperture-ml/aperture/runs/internal/train"

func main() { train.Main("wikitext103") }
