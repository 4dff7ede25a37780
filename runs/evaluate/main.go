// Command evaluate scores a trained language model on its validation and test
// texts: as it is, with a cache pointer, or with weights that follow the text.
//
//	go run ./runs/evaluate -run FOLDER -with dynamic
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/torch"
)

func main() {
	f, err := parse(os.Args[1:], command.Stdout)
	if err == nil {
		err = command.On(torch.Main, func() error { return run(f, command.Stdout, os.Stderr) })
	}
	command.Exit(err)
}

// run evaluates and prints what it found.
func run(f *flags, out, progress io.Writer) error {
	e, err := open(f, progress)
	if err != nil {
		return err
	}
	defer e.model.Free()
	if e.texts.Valid.Name == "" && len(e.texts.Tests) == 0 {
		return command.Usagef("there is no text to score: name one with -valid or -test")
	}
	var found *record.Evaluation
	switch f.With {
	case "static":
		found, err = e.static()
	case "cache":
		found, err = e.cache()
	case "dynamic":
		found, err = e.dynamic()
	}
	if err != nil {
		return err
	}
	if f.Save { // before it is shown, whose reader may not stay; where that fails it is shown all the same
		var path string
		if path, err = found.Save(f.Run); err == nil {
			fmt.Fprintf(progress, "kept as %s, where runs/compare reads it\n", path)
		}
	}
	return cmp.Or(err, show(found, f.JSON, out))
}

func show(found *record.Evaluation, asJSON bool, out io.Writer) error {
	if !asJSON {
		return write(found, out)
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(found)
}

// write writes a line for each text, and the settings that were found.
func write(r *record.Evaluation, out io.Writer) error {
	if r.Settings != nil {
		settings, err := json.Marshal(r.Settings)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s with %s\n", r.With, settings)
	}
	windows := ""
	if r.Settings["stride"] != nil {
		windows = " in the same windows"
	}
	line := func(name string, s record.TextScores) {
		fmt.Fprintf(out, "%-12s loss %.4f  ppl %.2f", name, s.NLL.Value(), s.PPL.Value())
		if s.Static != nil {
			fmt.Fprintf(out, "  (static %.2f%s)", s.Static.Value(), windows)
		}
		if s.Legacy != nil {
			fmt.Fprintf(out, "  (%.2f as AWD-LSTM's program divides)", s.Legacy.Value())
		}
		fmt.Fprintf(out, "  %d tokens, %.2f a word, %.3f bits a byte\n", s.Tokens, s.PPLWord.Value(),
			s.BitsByte.Value())
	}
	if r.Valid.Tokens > 0 {
		line("valid", r.Valid)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Test)) {
		line(name, r.Test[name])
	}
	return nil
}
