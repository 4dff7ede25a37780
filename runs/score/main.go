// Score compares translations on standard input with references: BLEU as sacreBLEU and as multi-bleu.perl compute it,
// chrF and chrF++.
//
//	go run ./runs/score -ref test.de < hypotheses.de
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/aperture-ml/aperture/runs/internal/command"
)

func main() {
	code := 0
	err := command.Guard(func() error {
		code = run(os.Args[1:], os.Stdin, command.Stdout, os.Stderr)
		return nil
	})
	if err != nil || code == 0 {
		command.Exit(err)
	}
	os.Exit(code) // the command has said why
}

// run scores in and returns the exit code: 0 done, 1 failed, 2 bad usage.
func run(args []string, in io.Reader, out, errw io.Writer) int {
	request, err := parse(args, out)
	switch {
	case errors.Is(err, command.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(errw, "score:", command.OneLine(err.Error()))
		return 2
	}
	if request.moses != nil && request.moses.Caveat() != "" {
		fmt.Fprintln(errw, "score:", request.moses.Caveat())
	}
	if err := request.score(in, out, errw); err != nil {
		fmt.Fprintln(errw, "score:", command.OneLine(command.Explain(err).Error()))
		return 1
	}
	return 0
}
