// Command analyze measures matrices of word vectors, of trained runs or from files, and draws them: how evenly they
// fill their space, singular values, cosines, hubs, and norm against frequency.
//
//	go run ./runs/analyze -run experiments/wmt14/mle-sample-seed1 experiments/wmt14/spectrum-sample-seed1
//	go run ./runs/analyze -vectors model.safetensors:decoder.embed_tokens.weight -json
//	go run ./runs/analyze FOLDER -tensor model.embed_tokens.weight -vocab vocab.json
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/runs/internal/chart"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/torch"
)

func main() {
	f, err := parse(os.Args[1:], command.Stdout)
	if err == nil {
		err = command.On(torch.Main, func() error { return run(f, command.Stdout, os.Stderr) })
	}
	command.Exit(torch.AdviseOnMemory(err, ": analyze fewer matrices at a time, or where there is more"))
}

// run measures what the flags name, on the torch thread. Results go to out, all else to log.
func run(f *flags, out, log io.Writer) error {
	if f.Vec != "" {
		if err := files.Vacant(f.Vec); err != nil {
			return fmt.Errorf("-vec writes a file: %w", err)
		}
	}
	torch.SetThreads(f.Threads)
	scope := torch.OpenScope()
	defer scope.Close()
	var results []*analysis
	var pictures []picture
	var projected strings.Builder
	var unsaved error
	sources := f.sources()
	for i, source := range sources {
		subject, err := source.open(log)
		if err != nil {
			return err
		}
		if f.Normalise && len(results) > 0 {
			subject.scaleTo(results[0].measures.Frobenius)
		}
		results = append(results, analyse(subject, f))
		if f.Save {
			unsaved = cmp.Or(unsaved, subject.save(results[i], f.Runs[i]))
		}
		if f.draws() {
			pictures = append(pictures, subject.picture(results[len(results)-1]))
		}
		if f.Projector != "" {
			entry, err := subject.project(f.Projector, i, len(sources), results[i].norms)
			if err != nil {
				return err
			}
			projected.WriteString(entry)
		}
		if f.Vec != "" {
			if err := subject.writeVec(f.Vec); err != nil {
				return err
			}
			fmt.Fprintf(log, "wrote %s\n", f.Vec)
		}
		torch.Free(subject.w)
	}
	if f.Projector != "" {
		if err := files.Write(filepath.Join(f.Projector, projectorConfig), []byte(projected.String())); err != nil {
			return err
		}
		fmt.Fprintf(log, "wrote %s: tensorboard --logdir %s shows it under Projector\n",
			filepath.Join(f.Projector, projectorConfig), f.Projector)
	}
	err := unsaved
	if f.draws() { // before the table: its reader may not stay to its end
		err = cmp.Or(err, f.save(draw(pictures), log))
	}
	if f.JSON {
		return cmp.Or(err, printJSON(out, results))
	}
	printTable(out, results)
	return err
}

// save writes the pictures.
func (f *flags) save(plots []chart.Plot, log io.Writer) error {
	folder, err := f.folder()
	if err != nil {
		return err
	}
	if err := chart.Save(folder, plots); err != nil {
		return fmt.Errorf("%w: -out DIR writes the pictures elsewhere", err)
	}
	fmt.Fprintf(log, "wrote %d pictures, analysis_*.png, to %s\n", len(plots), folder)
	return nil
}

// printJSON writes an object, or of several matrices a list of objects.
func printJSON(out io.Writer, results []*analysis) error {
	var value any = results
	if len(results) == 1 {
		value = results[0]
	}
	encode := json.NewEncoder(out)
	encode.SetEscapeHTML(false)
	encode.SetIndent("", "  ")
	return encode.Encode(value)
}
