// Package translator puts a translation model together: text processing, network
// and output layer, as a configuration describes them, or as a run folder holds
// them.
//
// # Basics
//
//	t, err := translator.New(config, pair, device)       // fresh weights
//	t, warnings, err := translator.Open(folder, device)  // the best ones of a run
//	outputs, err := t.Translate(lines, translator.Options{})
//
// # Caveats
//
// All calls belong on the torch thread.
package translator
