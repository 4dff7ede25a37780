package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/torch"
)

func main() {
	o, err := parse(os.Args[1:], command.Stdout)
	if err == nil && o.ISA != "" {
		err = torch.UseISA(strings.TrimPrefix(o.ISA, "default"))
	}
	if err == nil {
		err = command.On(torch.Main, func() error { return run(interruptible(), o, command.Stdout, os.Stderr) })
	}
	var stopped *command.SignalError
	switch {
	case errors.Is(err, command.ErrHelp):
	case errors.As(err, &stopped):
		fmt.Fprintf(os.Stderr, "bench: stopped by signal %d (%v)\n", int(stopped.Signal), stopped.Signal)
	case err != nil:
		for _, line := range strings.Split(err.Error(), "\n") {
			fmt.Fprintf(os.Stderr, "bench: %s\n", line)
		}
	}
	if err == nil {
		command.Exit(nil)
	}
	os.Exit(command.ExitCode(err))
}

// run measures what the options ask for, on the torch thread. The table goes to
// out, all else to log. What was measured is reported even where some rows failed.
func run(ctx context.Context, o options, out, log io.Writer) error {
	b, err := newBench(ctx, o, log)
	if err != nil {
		return err
	}
	defer b.close()
	torch.SetThreads(o.Threads)
	results, failed := b.measureAll()
	return errors.Join(printTable(out, results), writeJSON(o.JSON, results), failed)
}

// interruptible is a context that ends with the first SIGINT, SIGTERM or SIGHUP, so that
// the peers are stopped and what was measured is still reported. A later signal
// ends the process; one in the same second does not, since some senders send two.
func interruptible() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	arrived := make(chan os.Signal, 1)
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // by nohup
		signals = append(signals, syscall.SIGHUP)
	}
	signal.Notify(arrived, signals...)
	go func() {
		s := <-arrived
		cancel(&command.SignalError{Signal: s.(syscall.Signal)})
		time.Sleep(time.Second)
		signal.Reset(signals...)
	}()
	return ctx
}
