// Package safetensors has the header of the safetensors format, and the index of a checkpoint in several files, for
// those who write and read them: torch for tensors, and package exchange for weights that are Go slices.
//
// # Basics
//
// A file is eight bytes with the length of a JSON header, the header, then the elements of all tensors, little-endian
// and row-major. The header maps a name to {"dtype", "shape", "data_offsets"}; "__metadata__" maps strings to strings.
//
//	err := safetensors.WriteHeader(w, []safetensors.Entry{{"w", "F32", []int64{2, 3}, 24}}, nil)
//	// ... then the elements of each entry, in the same order
//
// A large checkpoint is several such files, shards, and an index that says which tensor is in which: ReadShards.
//
// # Caveats
//
// The package checks the header against the size of the file, and leaves elements to its callers. Types that it does
// not know may stand in a header: Lay learns from its caller which can be read, and with which size.
package safetensors
