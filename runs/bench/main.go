package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/torch"
)

func main() {
	ctx := interruptible()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	var stopped *experiment.SignalError
	switch {
	case errors.As(err, &stopped):
		fmt.Fprintf(os.Stderr, "bench: stopped by signal %d (%v)\n", int(stopped.Signal), stopped.Signal)
	case err != nil && !errors.Is(err, pflag.ErrHelp):
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
	}
	if errors.Is(err, pflag.ErrHelp) {
		err = nil
	}
	os.Exit(experiment.ExitCode(err))
}

// run measures what the arguments ask for. The table goes to out, everything
// else to errw. What was measured is reported even where some rows failed.
func run(ctx context.Context, args []string, out, errw io.Writer) error {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	b, err := newBench(ctx, o, errw)
	if err != nil {
		return err
	}
	defer b.close()
	var results []result
	failed := torch.Main(func() error {
		torch.SetThreads(o.threads)
		results, err = b.measureAll()
		return err
	})
	return errors.Join(printTable(out, results), writeJSON(o.json, results), failed)
}

// interruptible is a context that ends with the first SIGINT or SIGTERM, so that
// the peers are stopped and what was measured is still reported. A later signal
// ends the process; one in the same second does not, since some senders send two.
func interruptible() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	arrived := make(chan os.Signal, 1)
	signal.Notify(arrived, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		s := <-arrived
		cancel(&experiment.SignalError{Signal: s.(syscall.Signal)})
		time.Sleep(time.Second)
		signal.Reset(syscall.SIGINT, syscall.SIGTERM)
	}()
	return ctx
}
