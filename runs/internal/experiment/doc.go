// Package experiment turns a command line into an experiment: a configuration in which every key has a value, and a locked
// folder that records what was run, on what, and with which results.
//
// # Basics
//
// Parse reads the flags all training runs share, for a run described by a Spec, and returns Settings. The configuration is
// made in layers, each above the one before: defaults, preset with its bases, -config file, -set, flags. Open makes (or, with
// -resume, takes up) the run folder. A command's main ends in command.Exit, which prints one sentence and knows the exit code
// of each kind of error.
//
//	settings, err := experiment.Parse(&spec, os.Args[1:])
//	if err == nil {
//		err = train(settings)
//	}
//	command.Exit(err)
//
// A new key is a new field, with its tags, of a struct that Config holds, in the package that uses it; a rule between keys is
// a new line in validate.go, or in the Check of the task's package. Presets that want another value than the default give it.
// docs/keys.md is then made anew, by the command that its test names.
//
// # Caveats
//
// With -resume the folder's config.toml takes the preset's place, so that flags need not be repeated; keys that make it
// another experiment are refused, whoever changes them. Paths are relative to the working directory on the command line and
// in files, and absolute in config.toml.
//
// Without a corpus every preset trains on the built-in sample: data.sample follows data.dir and need not be set.
//
// The lock is flock's: it ends with the process, and does not reach over network file systems that lack it. Linux only.
package experiment
