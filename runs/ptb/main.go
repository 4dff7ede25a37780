// Command ptb trains a language model on Penn Treebank, or on the built-in sample.
package main

import "github.com/aperture-ml/aperture/runs/internal/train"

func main() { train.Main("ptb") }
