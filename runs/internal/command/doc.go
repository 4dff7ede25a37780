// Package command is what every command has in common: how flags are written, which exit code an error has, and how a panic
// becomes one sentence.
//
// # Basics
//
//	f, err := parse(command.NormalizeArgs(os.Args[1:], flags))
//	if err == nil {
//		err = command.OnTorch(func() error { return run(f) })
//	}
//	command.Exit(err)
//
// # Caveats
//
// OnTorch may start the program anew (torch.Main says why), so nothing that counts should come before it.
package command
