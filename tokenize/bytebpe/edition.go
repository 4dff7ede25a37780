package bytebpe

import "embed"

// Sources are this package's, for keys of what is kept of its results (tokenize.Edition): another program may split
// otherwise.
//
//go:embed *.go
var Sources embed.FS
