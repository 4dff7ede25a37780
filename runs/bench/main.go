package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/torch"
)

func main() {
	o, err := parse(os.Args[1:], command.Stdout)
	if err == nil && o.ISA != "" {
		err = torch.UseISA(strings.TrimPrefix(o.ISA, "default"))
	}
	if err == nil {
		ctx, stop := command.Interruptible(context.Background())
		err = command.On(torch.Main, func() error { return run(ctx, o, command.Stdout, os.Stderr) })
		stop()
	}
	command.Exit(err)
}

// run measures what the options ask for, on the torch thread. The table goes to out, all else to log. What was
// measured is reported even where some rows failed, and after a signal, which ends the peers.
func run(ctx context.Context, o options, out, log io.Writer) error {
	b, err := newBench(ctx, o, log)
	if err != nil {
		return err
	}
	defer b.close()
	torch.SetThreads(o.Threads)
	results, failed := b.measureAll()
	return errors.Join(failed, printTable(out, results), writeJSON(o.JSON, results))
}
