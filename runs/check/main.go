// Command check tells what Aperture was built with and what it finds on this
// machine, and proves with one product of matrices that the pieces fit together.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/torch"
)

func main() {
	err := parse(os.Args[1:], command.Stdout)
	if err == nil {
		err = command.On(torch.Main, check)
	}
	command.Exit(err)
}

// parse reads a command line, which holds nothing but -h. Help goes to out.
func parse(args []string, out io.Writer) error {
	_, err := command.Help{
		Name: "check", Summary: "check prints versions, device, threads and instruction set, and proves with one " +
			"product of matrices that they fit together.",
		NoArgs: "check takes none (check -h says what it does)",
	}.Read(&struct{}{}, args, out)
	return err
}

func check() error {
	device, err := torch.FindDevice("auto")
	if err != nil {
		return err
	}
	torch.SetThreads(0)
	fmt.Fprintln(command.Stdout, "libtorch ", torch.Version())
	fmt.Fprintln(command.Stdout, "go       ", runtime.Version())
	fmt.Fprintln(command.Stdout, "device   ", device)
	if advice := torch.UnusedGPU(); advice != "" {
		fmt.Fprintln(command.Stdout, "         ", advice)
	}
	fmt.Fprintln(command.Stdout, "threads  ", torch.Threads())
	fmt.Fprintln(command.Stdout, "isa      ", torch.ISA(), "(libtorch: "+torch.LibtorchISA()+")")
	fmt.Fprintln(command.Stdout, "bfloat16 ", torch.HasBFloat16())

	// N is 3.
	scope := torch.OpenScope()
	defer scope.Close()
	x_NN := torch.Full(2, torch.Float32, device, 3, 3)
	for _, value := range x_NN.MatMul(x_NN).Float64s() {
		if value != 12 {
			return fmt.Errorf("a product of matrices on %s gives %g where 12 is right: run ./build.sh clean && "+
				"./build.sh", device, value)
		}
	}
	fmt.Fprintln(command.Stdout, "all is well")
	return nil
}
