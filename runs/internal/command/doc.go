// Package command is what all commands have in common: how flags are written, which exit code an error has, and how a
// panic is reported in one sentence.
//
// # Basics
//
//	var f struct {
//		Jobs int `flag:"jobs" default:"1" range:"[1,64]" help:"train <N> runs at a time"`
//	}
//	_, err := command.Help{Name: "sweep", Summary: "..."}.Read(&f, os.Args[1:], command.Stdout)
//	if err == nil {
//		err = command.Guard(func() error { return run(f) })
//	}
//	command.Exit(err)
//
// Results go to Stdout, so that Exit can tell where they did not arrive.
//
// A program that computes on tensors calls command.On(torch.Main, ...) in place of Guard.
//
// # Caveats
//
// Exit ends the process, so that deferred calls of its caller do not run. The package knows nothing of torch, and
// programs without tensors build without cgo.
package command
