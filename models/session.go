package models

import (
	"context"
	"errors"

	"github.com/aperture-ml/aperture/torch"
)

// Options say on what a trained model computes. The zero value is good.
type Options struct {
	Device  string // cpu, cuda, cuda:N or auto; empty is auto, a GPU where there is one
	Threads int    // CPU threads of this process; 0 is all that it may use
}

// Open runs load on the torch thread, for the device of o and with its threads.
func Open[M any](o Options, load func(torch.Device) (M, error)) (m M, err error) {
	if o.Device == "" {
		o.Device = "auto"
	}
	device, err := torch.FindDevice(o.Device)
	if err != nil {
		return m, err
	}
	err = torch.Queue(context.Background(), func() error {
		torch.SetThreads(o.Threads)
		m, err = load(device)
		return err
	})
	return m, err
}

// Session lets the calls of many goroutines use one model, until it is closed.
type Session struct{ closed bool }

// ErrClosed says that a model was used after Close.
var ErrClosed = errors.New("the model has been closed")

// Queue runs body on the torch thread (see [torch.Queue]), or returns [ErrClosed].
func (s *Session) Queue(ctx context.Context, body func() error) error {
	return torch.Queue(ctx, func() error {
		if s.closed {
			return ErrClosed
		}
		return body()
	})
}

// CloseWith frees a model. Calls that wait for their turn, and later ones, get [ErrClosed].
func (s *Session) CloseWith(free func()) error {
	return s.Queue(context.Background(), func() error {
		s.closed = true
		free()
		return nil
	})
}
