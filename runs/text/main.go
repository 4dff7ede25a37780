// Text prepares and restores text: Moses tokenising, punctuation and case,
// corpus cleaning, byte pair encoding, and word alignment. Each command reads standard input
// and writes standard output, one line for each line. Input and files may be packed with gzip or Zstandard.
//
//	go run ./runs/text tokenize -l de < raw.de > tok.de
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/runs/internal/command"
)

// tool is one command of this program. run returns an error that is a
// *command.UsageError (exit code 2) for bad flags or arguments, command.ErrHelp after it
// printed its help, and any other error (exit code 1) for bad input.
type tool struct {
	name, summary string
	run           func(args []string, in io.Reader, out io.Writer, errw io.Writer) error
}

// usagef makes an error of the command line, as opposed to one of the data.
func usagef(format string, args ...any) error { return command.Usagef(format, args...) }

func main() {
	code := 0
	err := command.Guard(func() error {
		code = execute(os.Args[1:], os.Stdin, command.Stdout, os.Stderr)
		return nil
	})
	if err != nil || code == 0 {
		command.Exit(err)
	}
	os.Exit(code) // the command has said why
}

// execute runs one command and returns the exit code: 0 done, 1 failed, 2 bad usage.
func execute(args []string, in io.Reader, out, errw io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(errw, help())
		return 2
	}
	switch args[0] {
	case "-h", "-help", "--help", "help":
		if _, err := fmt.Fprint(out, help()); err != nil {
			fmt.Fprintf(errw, "text: %v\n", err)
			return 1
		}
		return 0
	}
	for _, c := range commands() {
		if c.name != args[0] {
			continue
		}
		err := c.run(args[1:], &unpacking{in: in}, out, errw)
		var usage *command.UsageError
		switch {
		case err == nil || errors.Is(err, command.ErrHelp):
			return 0
		case errors.As(err, &usage):
			fmt.Fprintf(errw, "text %s: %v\n", c.name, err)
			return 2
		}
		fmt.Fprintf(errw, "text %s: %v\n", c.name, command.Explain(err))
		return 1
	}
	fmt.Fprintf(errw, "text: there is no command %q; text -h lists the commands\n", args[0])
	return 2
}

// unpacking unpacks what is packed with gzip or Zstandard. It does not read before it is read.
type unpacking struct {
	in       io.Reader
	unpacked *files.Unpacked
}

func (u *unpacking) Read(p []byte) (n int, err error) {
	if u.unpacked == nil {
		if u.unpacked, err = files.Unpack(u.in); err != nil {
			return 0, err
		}
	}
	return u.unpacked.Read(p)
}

func commands() []tool {
	return slices.Concat(mosesCommands(), bpeCommands(), alignCommands(), idCommands())
}

// help lists the commands.
func help() string {
	var b strings.Builder
	command.Help{
		Name: "text", Usage: "COMMAND [flags] < input > output",
		Summary: "text prepares and restores text: Moses tokenising, punctuation and case, cleaning, byte-pair encoding, word alignment.",
		About:   "Input and files may be packed with gzip or Zstandard.",
	}.Head(&b)
	b.WriteString("\nCommands:\n")
	for _, c := range commands() {
		command.ListEntry(&b, c.name, c.summary)
	}
	b.WriteString("\ntext COMMAND -h lists the flags of a command.\n")
	return b.String()
}
