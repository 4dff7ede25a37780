// Package checkpoint keeps the states of a run on disk so that any moment may be the last: a killed process, a full
// disk or a damaged file costs at most the updates since the save before.
//
// # Basics
//
// A Store is the folder checkpoints inside a run folder. Save writes one
// checkpoint, a folder step-N that holds the given files and manifest.json with
// their sizes and digests, and with the keys of the configuration that decide results:
//
//	store := checkpoint.Store{Dir: filepath.Join(out, "checkpoints"), Keep: 3}
//	err := store.Save(1200, []checkpoint.File{{Name: "state.json", Write: writeState}}, keys)
//
// Latest and Best give a checkpoint whose every byte has been compared with its manifest; where Best learns which file
// will be read, every byte of that. Where the wanted one is damaged or missing they give the newest valid one, with
// warnings that name each file and what is wrong with it.
//
// A save writes every file to step-N.tmp, synced, then the manifest, then syncs the folder; renames it to step-N; syncs
// the parent folder; replaces LATEST by a rename; and only then prunes old checkpoints, never the one that BEST names.
// So a folder step-N is whole whenever it exists, but for what happens to disks later, which digests find.
//
// # Caveats
//
// One process may write to a Store at a time: the one that holds the lock of the run folder, which package experiment
// takes. It calls Recover before it reads or saves, which clears what a killed process left. Readers need no lock.
//
// The newest valid checkpoint is the one with the largest step. LATEST is for people and scripts; where it names an
// older one, which happens when a process dies between two renames, Latest says so and takes the newer. To go back to
// an older state, remove the newer folders.
//
// The environment variable APERTURE_FAILPOINT=name, or name:k for the k-th time,
// kills the process at a point of the save sequence, for tests of recovery.
package checkpoint
