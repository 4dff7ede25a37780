package spm

import "embed"

// Sources are this package's, for keys of what is kept of its results (tokenize.Edition): another program may split
// text otherwise.
//
//go:embed *.go
var Sources embed.FS
