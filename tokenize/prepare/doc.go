// Package prepare makes of published corpora, as their pages offer them, the files that a run reads: raw text, one
// sentence a line, in the splits that results are published on.
//
// # Basics
//
//	counts, err := prepare.Run(ctx, prepare.Options{Corpus: "iwslt14", From: "downloads", To: "data/iwslt14"})
//
// reads de-en.tgz, writes train, valid and test in both languages, and returns lines and tokens of each file beside the
// published figures, as counts.json keeps them. Corpora lists the corpora and their settings.
//
// Archives are read in place, packed or not, and so are the files that were in them. Files are known by their names,
// wherever in the folder or archive they lie. Every tar archive is first read from end to end, which finds what is
// missing or damaged; then both sides of a text are read at once, judged on all processors and written in order, with
// some ten thousand lines in memory.
//
// A file gets its name when it is whole and on the disk. counts.json is written after each text: a repeated call makes
// only what is absent, was changed, or was made of other files.
//
// Text stays as published, apart from a corpus's recipe: tags are removed, pairs are dropped and split off.
// Lower-casing, punctuation, tokens and byte-pair pieces are left to the run.
//
// # Caveats
//
// Archives are known again by name, size and time of change, not by their bytes.
//
// A tar file has no list: large ones are unpacked three times, once to look into them and once for each side.
//
// Entities such as &amp; stay, as in the scripts that results were published with. Zero bytes, which runs refuse, are
// left out.
package prepare
