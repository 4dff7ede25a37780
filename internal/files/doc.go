// Package files writes files completely or not at all, reads packed ones, locks folders, hashes what is read, and says
// so in plain words when a disk is full.
//
// # Basics
//
//	err := files.Write(path, data)     // a temporary name beside it, fsync, rename
//	w, err := files.Create(path)       // the same for what does not fit into memory
//	err := files.WriteFolder(path, fill) // a folder: filled under a temporary name, fsync, rename
//	lock, err := files.Lock(folder)    // until lock.Close or the end of the process
//	in, err := files.Open(path)        // or path.gz, or path.zst, unpacked
//	err = files.DiskFull(err)          // one sentence, where a full disk was the cause
//
// # Caveats
//
// Linux only. The lock is flock's: it does not reach over network file systems that lack it.
package files
