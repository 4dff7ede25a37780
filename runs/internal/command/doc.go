// Package command is what all commands have in common: how flags are written, which exit code an error has, and how a panic
// is reported in one sentence.
//
// # Basics
//
//	f, err := parse(command.NormalizeArgs(os.Args[1:], flags))
//	if err == nil {
//		err = command.OnTorch(func() error { return run(f) })
//	}
//	command.Exit(err)
//
// Results go to Stdout, so that Exit can tell where they did not arrive.
//
// # Caveats
//
// OnTorch may start the program again from its beginning (torch.Main says why), so only reading the command line should come
// before it.
package command
