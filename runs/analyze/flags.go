package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/record"
)

// flags are the command line.
type flags struct {
	Runs       []string `flag:"run" help:"<FOLDER> of a training run; more folders may follow, or the flag may repeat"`
	Vectors    []string `flag:"vectors" help:"<FILE> of vectors: .safetensors, followed by :NAME where it holds several matrices, .vec text, or a .bin of word2vec or fastText, each of the three also .gz or .zst; or a folder with a checkpoint in safetensors, in shards or not; may repeat"`
	Tensor     string   `flag:"tensor" help:"<NAME> of the matrix in checkpoints in safetensors"`
	Vocabulary string   `flag:"vocab" help:"<FILE> that names the rows of matrices from files: a word a line, or .json with an object that maps words to rows"`
	Matrix     string   `flag:"matrix" default:"output" choice:"output source target" help:"<MATRIX> of translators: output, or the input vectors of the source or target language"`
	Counts     string   `flag:"counts" help:"raw text <FILE> in the language of the matrix, whose symbols are counted, for a run that keeps no counts, such as an imported one"`
	NamedOnly  bool     `flag:"named-only" with:"vocab" help:"leave out rows that -vocab does not name, which fill a matrix up"`
	States     int      `flag:"states" default:"2000" range:"[0,inf)" help:"look at about <N> hidden states of each run, of its validation text; 0 at none"`
	JSON       bool     `flag:"json" help:"print JSON: an object, or a list of them for several matrices; pictures only with -out"`
	Out        string   `flag:"out" help:"<DIR> for the pictures (default: plots in the run's folder; for several runs, plots in the folder that holds them all)"`
	Normalise  bool     `flag:"normalise" help:"scale every matrix to the Frobenius norm of the first, because shrinking a matrix alone raises its I1"`
	Projector  string   `flag:"projector" help:"write the matrices to <DIR> as TensorBoard's projector reads them"`
	Vec        string   `flag:"vec" help:"write the matrix to a new <FILE> as .vec text: a word a line, with its numbers"`
	Save       bool     `flag:"save" help:"keep what is measured of runs in their folders, with the losses of parts of their test texts, for runs/compare"`
	Rows       int      `flag:"rows" range:"[0,inf)" help:"measure I1 and I2 on samples of <N> rows, as published for WikiText-103 with 40000; 0 is all rows"`
	Samples    int      `flag:"samples" with:"rows" default:"10" range:"[1,inf)" help:"take the mean of <N> such samples"`
	Seed       uint64   `flag:"seed" default:"1" help:"seed <N> of samples and of random directions"`
	command.CPU
}

var about = command.Help{
	Name: "analyze", Usage: "[-run|-vectors] FOLDER|FILE... [flags]",
	Summary: "analyze measures the word vectors of trained runs and of files, and draws them.",
	About: "What is named without a flag is a run where a run is, and else a file of vectors or a folder with a " +
		"checkpoint.",
}

func parse(args []string, help io.Writer) (*flags, error) {
	f := &flags{}
	fs, err := about.Read(f, args, help)
	if err != nil {
		return nil, err
	}
	if err := f.name(fs.Args()); err != nil {
		return nil, &command.UsageError{Err: err}
	}
	switch {
	case len(f.Runs)+len(f.Vectors) == 0:
		return nil, command.Usagef("nothing to analyze: give the folder of a training run with -run, or a file with " +
			"-vectors")
	case len(f.Runs) == 0 && fs.Changed("states"):
		return nil, command.Usagef("-states looks at hidden states of runs, and %s is a file: leave it out", f.Vectors[0])
	case f.Normalise && len(f.Runs)+len(f.Vectors) == 1:
		return nil, command.Usagef("-normalise scales matrices to the norm of the first, and one is named: name others, or " +
			"leave it out")
	case f.Rows == 1:
		return nil, command.Usagef("-rows is 1: a sample needs at least 2 rows, and 0 stands for all")
	case f.Save && (len(f.Vectors) > 0 || f.Normalise):
		return nil, command.Usagef("-save keeps measures of runs as they are: name no files of vectors with it, and " +
			"leave -normalise out")
	case f.Save && (f.Matrix != "output" || f.Counts != ""):
		return nil, command.Usagef("-save keeps measures of output matrices with their own counts: leave -matrix and " +
			"-counts out")
	case len(f.Vectors) > 0 && (f.Matrix != "output" || f.Counts != ""):
		return nil, command.Usagef("-matrix and -counts are for runs, and %s is a file: leave them out", f.Vectors[0])
	case f.Vec != "" && len(f.Runs)+len(f.Vectors) > 1:
		return nil, command.Usagef("-vec writes one matrix, and %d are named: leave out all but one",
			len(f.Runs)+len(f.Vectors))
	case len(f.Runs) > 0 && (f.Vocabulary != "" || f.Tensor != ""):
		return nil, command.Usagef("-tensor and -vocab are for matrices from files, and %s is a run, whose output "+
			"matrix has its own words", f.Runs[0])
	}
	for _, path := range f.Vectors {
		file, tensor := splitName(path)
		switch {
		case !isVectorFile(file):
			return nil, command.Usagef("-vectors %s: the name should end in .safetensors (with or without :NAME), "+
				".vec, .txt, .bin, .gz or .zst, or be a folder with a checkpoint in safetensors", path)
		case f.Tensor != "" && (tensor != "" || !holdsWeights(file)):
			return nil, command.Usagef("-tensor %s: %s names its matrix itself: leave one of them out", f.Tensor, path)
		}
	}
	return f, nil
}

// name sorts what stands on the command line without a flag: after -run they are runs, else what each is found to be.
func (f *flags) name(args []string) error {
	runs := len(f.Runs) > 0 && len(f.Vectors) == 0
	for _, arg := range args {
		file, _ := splitName(arg)
		_, missing := os.Stat(file)
		_, noRun := os.Stat(filepath.Join(file, experiment.ConfigFile))
		switch {
		case runs || missing == nil && noRun == nil:
			f.Runs = append(f.Runs, arg)
		case missing != nil:
			return fmt.Errorf("there is no file or folder %q: name run folders with -run, files of vectors with "+
				"-vectors", arg)
		default:
			f.Vectors = append(f.Vectors, arg)
		}
	}
	return nil
}

// sources are what to analyze, in the order of the table.
func (f *flags) sources() []source {
	var all []source
	names := shortNames(f.Runs)
	for i, folder := range f.Runs {
		all = append(all, runFolder{folder, names[i], f.States, f.Save, f.Matrix, f.Counts})
	}
	for _, path := range f.Vectors {
		file, tensor := splitName(path)
		name := filepath.Base(filepath.Clean(file))
		if tensor = cmp.Or(tensor, f.Tensor); tensor != "" {
			name += ":" + tensor
		}
		all = append(all, vectorFile{file, tensor, name, f.Vocabulary, f.NamedOnly})
	}
	return all
}

// shortNames are the shortest last parts of paths that tell them apart.
func shortNames(paths []string) []string {
	for depth := 1; ; depth++ {
		names, taken, longer := make([]string, len(paths)), map[string]bool{}, false
		for i, path := range paths {
			parts := strings.Split(filepath.ToSlash(filepath.Clean(path)), "/")
			longer = longer || depth < len(parts)
			names[i] = strings.Join(parts[max(0, len(parts)-depth):], "/")
			taken[names[i]] = true
		}
		if len(taken) == len(names) || !longer {
			return names
		}
	}
}

// draws reports whether there will be pictures.
func (f *flags) draws() bool { return f.Out != "" || !f.JSON && len(f.Runs) > 0 }

// folder is where the pictures go: -out, the plots of the one run, or plots in the folder that all runs lie in.
func (f *flags) folder() (string, error) {
	switch {
	case f.Out != "":
		return f.Out, nil
	case len(f.Runs) == 1:
		return filepath.Join(f.Runs[0], experiment.PlotsDir), nil
	}
	common := ""
	for i, folder := range f.Runs {
		path, err := filepath.Abs(folder)
		if err != nil {
			return "", err
		}
		if i == 0 {
			common = filepath.Dir(path)
		}
		for common != "/" && !strings.HasPrefix(path, common+"/") {
			common = filepath.Dir(common)
		}
	}
	return filepath.Join(common, record.PlotsDir), nil
}
