// Text prepares and restores text: Moses tokenising, punctuation and case, corpus cleaning, byte-pair encoding, word
// alignment. Each command reads standard input and writes standard output, a line for each line. Input and files may be
// packed with gzip or Zstandard.
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

// tool is one command of this program.
type tool struct {
	name, summary string
	usage         string // what follows an empty line stands below it in the help
	options       options
	files         bool // it takes arguments
}

// options are a tool's flags, as [command.Help.Read] fills them, with what the tool does.
type options interface{ run(s streams) error }

// streams are what a tool reads and writes.
type streams struct {
	in        io.Reader
	out, errw io.Writer
	args      []string // that are no flags
}

func main() {
	code := 0
	err := command.Guard(func() error {
		code = execute(os.Args[1:], os.Stdin, command.Stdout, os.Stderr)
		return nil
	})
	if err != nil || code == 0 {
		command.Exit(err)
	}
	os.Exit(code) // the tool has said why
}

// execute runs one tool and returns the exit code: 0 done, 1 failed, 2 bad usage.
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
	all := tools()
	at := slices.IndexFunc(all, func(t tool) bool { return t.name == args[0] })
	if at < 0 {
		fmt.Fprintf(errw, "text: there is no command %q; text -h lists the commands\n", args[0])
		return 2
	}
	err := all[at].run(args[1:], streams{in: &unpacking{in: in}, out: out, errw: errw})
	if err == nil || errors.Is(err, command.ErrHelp) {
		return 0
	}
	fmt.Fprintf(errw, "text %s: %s\n", args[0], command.OneLine(command.Explain(err).Error()))
	return command.ExitCode(err)
}

// run reads the flags and does the work. Its error is a *command.UsageError for bad usage, or command.ErrHelp after -h.
func (t tool) run(args []string, s streams) error {
	h := command.Help{Name: "text " + t.name, Summary: "text " + t.name + ": " + t.summary + "."}
	h.Usage, h.About, _ = strings.Cut(t.usage, "\n\n")
	if !t.files {
		h.NoArgs = "the text comes from standard input"
	}
	fs, err := h.Read(t.options, args, s.out)
	if err != nil {
		return err
	}
	s.args = fs.Args()
	return t.options.run(s)
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

func tools() []tool { return slices.Concat(mosesTools(), bpeTools(), alignTools(), idTools()) }

// help lists the tools.
func help() string {
	var b strings.Builder
	command.Help{
		Name: "text", Usage: "COMMAND [flags] < input > output",
		Summary: "text prepares and restores text: Moses tokenising, punctuation and case, cleaning, byte-pair " +
			"encoding, word alignment.",
		About: "Input and files may be packed with gzip or Zstandard.",
	}.Head(&b)
	b.WriteString("\nCommands:\n")
	for _, t := range tools() {
		command.ListEntry(&b, t.name, t.summary)
	}
	b.WriteString("\ntext COMMAND -h lists the flags of a command.\n")
	return b.String()
}
