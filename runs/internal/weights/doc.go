// Package weights takes the tensors of a checkpoint into a network.
//
// # Basics
//
//	err := weights.Load(params, checkpoint, device)
//	warnings, err := weights.LoadBest(params, folder, device)
//
// # Caveats
//
// Read makes tensors in the innermost scope. A checkpoint's average stands in a
// file of its own, and Load prefers it: that is what validation has scored.
package weights
