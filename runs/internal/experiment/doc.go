// Package experiment turns a command line into an experiment: a configuration in which every key has a value, and a
// locked folder that records what was run, on what, and with which results.
//
// # Basics
//
// Parse reads the flags that all training runs share, for a run described by a Spec, and returns Settings. Each layer
// of the configuration replaces keys of those before it: defaults, preset with its bases, -config file, -set, flags.
// Open makes the run folder or, with -resume, opens it again.
//
//	settings, err := experiment.Parse(&spec, os.Args[1:])
//	if err == nil {
//		err = train(settings)
//	}
//	command.Exit(err)
//
// config.go says where keys stand. A preset is a file NAME.toml in a run's folder: a header, and the keys that differ
// from its base and from the defaults. docs/keys.md is made from the tags; its test names the command.
//
// # Caveats
//
// With -resume the folder's config.toml takes the preset's place, so that flags need not be repeated. A key that would
// make it another experiment must not change, neither by the command line nor by another default. Paths are relative to
// the working directory on the command line and in files, and absolute in config.toml.
//
// Without a corpus every preset trains on the built-in sample: data.sample follows from data.dir and need not be set.
//
// The lock is flock's: it ends with the process, and does not reach over network file systems that lack it. Linux only.
package experiment
