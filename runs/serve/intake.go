package main

import (
	"container/list"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/aperture-ml/aperture/runs/serve/internal/request"
)

// intake is the bodies that are arriving. They share a budget of bytes; where it is spent, the body that has been
// arriving for longest is given up, so that senders who take their time keep nobody from being heard.
type intake struct {
	limit int64 // of bytes of a body

	mu    sync.Mutex
	free  int64     // bytes of the budget
	order list.List // of *arrival, the oldest first
}

func newIntake(limit int64) *intake { return &intake{limit: limit, free: arriving * limit} }

// bodyLimit is the size of a body that can hold a request: a character takes up to twelve bytes, as two escapes of JSON
// or of a form.
func bodyLimit(chars int) int64 { return 64<<10 + 12*int64(chars) }

// arriving is the number of bodies of the largest size that the intake has room for.
const arriving = 128

// connectionBytes is what a connection takes beside its body: two buffers of package net/http and two small stacks.
const connectionBytes = 16 << 10

// arrival is a body that is arriving.
type arrival struct {
	in         *intake
	body       io.Reader
	connection *http.ResponseController
	bytes      int64
	place      *list.Element // nil where it has been given up
}

// errSlow and errCrowded say why a body was given up.
var (
	errSlow    = &request.Error{Status: http.StatusRequestTimeout, Kind: "slow", Text: "the body came too slowly"}
	errCrowded = &request.Error{Status: http.StatusRequestTimeout, Kind: "slow", Text: "the body came too slowly, and others need its place"}
)

// read reads a request's body whole.
func (in *intake) read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	x := &arrival{in: in, body: http.MaxBytesReader(w, r.Body, in.limit), connection: http.NewResponseController(w)}
	in.mu.Lock()
	x.place = in.order.PushBack(x)
	in.mu.Unlock()
	x.take(connectionBytes)
	body, err := io.ReadAll(x)
	in.mu.Lock()
	defer in.mu.Unlock()
	if x.place == nil {
		return nil, errCrowded
	}
	in.remove(x)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, request.TooLarge("the body has more than %d bytes: send less at a time", large.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, errSlow
	case err != nil:
		return nil, request.Invalid("the body could not be read")
	}
	return body, nil
}

// Read is that of [io.Reader].
func (x *arrival) Read(p []byte) (int, error) {
	n, err := x.body.Read(p)
	x.take(int64(n))
	return n, err
}

// take charges a body for bytes, and gives up the oldest ones where these are too much.
func (x *arrival) take(bytes int64) {
	in := x.in
	in.mu.Lock()
	defer in.mu.Unlock()
	if x.place == nil {
		return
	}
	x.bytes += bytes
	in.free -= bytes
	for in.free < 0 {
		oldest := in.order.Front().Value.(*arrival)
		in.remove(oldest)
		oldest.connection.SetReadDeadline(time.Unix(1, 0)) // its Read, which may be waiting, fails
	}
}

// remove takes a body out of the budget.
func (in *intake) remove(x *arrival) {
	in.order.Remove(x.place)
	x.place = nil
	in.free += x.bytes
}
