// Package keys turns the tags of a struct's fields into configuration keys: defaults, checks, strict decoding of TOML,
// and a commented print.
//
// # Basics
//
//	type Settings struct {
//		Alpha float64 `toml:"alpha" default:"0.005" range:"[0,inf)" help:"radius of the perturbation"`
//		Mode  string  `toml:"mode" default:"code" choice:"code paper" help:"what is differentiated"`
//	}
//	var schema = keys.New[Settings]("objective")
//	s := schema.Defaults()
//	err := schema.Check(&s)                      // objective.alpha = -1 is out of range: it wants a number of at least 0
//
// A field's tags say all about its key, in the package that uses the field:
//
//	toml     the key's name; a struct field with a name is a section, one embedded without a name is part of its struct
//	default  its value where nothing else gives one
//	range    numbers: [0,1) holds 0 but not 1
//	choice   texts: the values it may have, separated by spaces
//	path     texts that name a file or a folder: which of the two
//	task     the only task that reads it; on an embedded struct it holds for all of its keys
//	kinds    the only kinds of network that read it, separated by spaces; inherited as well
//	resume   whether a resumed run may change it (package experiment says what the values mean); inherited as well
//	init     keep: a run that starts from the weights of another one has that run's value; free ends what is inherited
//	help     its meaning and unit, in one sentence without the full stop
//
// A struct whose keys come from a list of others, such as the output layers, holds it as a field of type [Parts].
//
// # Caveats
//
// A field without a toml tag, or with "-", is no key. Kinds of values are int, float64, bool, string and []string. A
// malformed tag, or a field of another type, panics when a schema is made.
package keys
