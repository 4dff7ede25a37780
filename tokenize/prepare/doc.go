// Package prepare makes of published corpora, as their pages offer them, the files that a run reads: raw text, one
// sentence a line, in the splits that results are published on.
//
// # Basics
//
//	counts, err := prepare.Run(ctx, prepare.Options{Corpus: "iwslt14", From: "downloads", To: "data/iwslt14"})
//
// reads de-en.tgz, writes train, valid and test in both languages, and tells lines and tokens of each file beside the
// published figures, which it also keeps in counts.json. Corpora lists the corpora and their settings.
//
// Archives are read in place, packed or not, and so are the files that were in them. What a corpus needs is known by
// the names of files, wherever in the folder, or in the archive, they lie. Before anything is written every archive is
// read from end to end, which finds what is missing and what is damaged; then both sides of a text are read at once,
// judged on all processors and written in order, so that memory holds some ten thousand lines.
//
// A file gets its name when it is whole and on the disk. counts.json is written after each text: a call that is
// repeated makes only what is not there, was changed, or was made of other files.
//
// Text stays as it was published, apart from what the files of a corpus do for its recipe: tags are removed, pairs are
// dropped and split off. Lower-casing, punctuation, tokens and byte-pair pieces are left to the run.
//
// # Caveats
//
// Archives are known again by name, size and time of change, not by their bytes.
//
// A tar file has no list of its contents: large ones are unpacked three times over, once to look into them and once for
// each side, and nothing of them is kept.
//
// Entities such as &amp; stay as they are, as in the scripts that results were published with.
//
// Bytes that are zero are left out, since no text holds any and runs refuse them.
package prepare
