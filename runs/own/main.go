// Command own trains a translator on parallel text of your own, with settings that follow the number of its pairs.
//
//	go run ./runs/own -data ../corpus -src en -tgt de
package main

import "github.com/aperture-ml/aperture/runs/internal/train"

func main() { train.Main("own") }
