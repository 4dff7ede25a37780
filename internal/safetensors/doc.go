// Package safetensors has the header of the safetensors format for those who write and read it: torch for tensors, and
// package exchange for weights that are Go slices.
//
// # Basics
//
// A file is eight bytes with the length of a JSON header, the header, then the elements of all tensors, little-endian
// and row-major. The header maps a name to {"dtype", "shape", "data_offsets"}; "__metadata__" maps strings to strings.
//
//	err := safetensors.WriteHeader(w, []safetensors.Entry{{"w", "F32", []int64{2, 3}, 24}}, nil)
//	// ... then the elements of each entry, in the same order
//
// # Caveats
//
// The package checks the header against the size of the file, and leaves elements to its callers. Types that it does not
// know may stand in a header: Lay learns from its caller which can be read, and with which size.
package safetensors
