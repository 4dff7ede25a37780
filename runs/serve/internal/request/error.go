package request

import (
	"fmt"
	"net/http"

	"github.com/aperture-ml/aperture/internal/files"
)

// Error is what a caller did wrong, or what keeps the server from answering, with its status.
type Error struct {
	Status int
	Kind   string // in the metrics
	Text   string
}

func (e *Error) Error() string { return e.Text }

// Invalid is the error of a request that makes no sense.
func Invalid(format string, args ...any) error {
	return &Error{http.StatusBadRequest, "request", text(format, args)}
}

// TooLarge is the error of a request that asks for more than is answered at a time.
func TooLarge(format string, args ...any) error {
	return &Error{http.StatusRequestEntityTooLarge, "size", text(format, args)}
}

// text is one line of at most 1,000 bytes, whatever the caller sent that it tells.
func text(format string, args []any) string {
	return files.ShownAtMost(1000, fmt.Sprintf(format, args...))
}
