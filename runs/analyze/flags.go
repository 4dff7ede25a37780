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
	runs, vectors   []string
	json, normalise bool
	out             string
	rows, threads   int
	samples         int
	seed            uint64

	tensor, vocabulary string
	namedOnly          bool
	states             int
	projector, vec     string
	save               bool
}

var about = command.Help{
	Name: "analyze", Usage: "[-run|-vectors] FOLDER|FILE... [flags]",
	Summary: "analyze measures the word vectors of trained runs and of files, and draws them.",
	About:   "What is named without a flag is a run where a run is, and else a file of vectors or a folder with a checkpoint.",
}

func parse(args []string, help io.Writer) (*flags, error) {
	f := &flags{}
	fs := command.Flags("analyze")
	fs.StringArrayVar(&f.runs, "run", nil, "`FOLDER` of a training run; more folders may follow, or the flag may repeat")
	fs.StringArrayVar(&f.vectors, "vectors", nil, "`FILE` of vectors: .safetensors, followed by :NAME where it holds several matrices, .vec text, or a .bin of word2vec or fastText, each of the three also .gz; or a folder with a checkpoint in safetensors, in shards or not; may repeat")
	fs.StringVar(&f.tensor, "tensor", "", "`NAME` of the matrix in checkpoints in safetensors")
	fs.StringVar(&f.vocabulary, "vocab", "", "`FILE` that names the rows of matrices from files: a word a line, or .json with an object that maps words to rows")
	fs.BoolVar(&f.namedOnly, "named-only", false, "leave out rows that -vocab does not name, which fill a matrix up")
	fs.IntVar(&f.states, "states", 2000, "look at about `N` hidden states of each run, of its validation text; 0 at none")
	fs.BoolVar(&f.json, "json", false, "print JSON: an object, or a list of them for several matrices; pictures only with -out")
	fs.StringVar(&f.out, "out", "", "`DIR` for the pictures (default: plots in the run's folder; for several runs, plots in the folder that holds them all)")
	fs.BoolVar(&f.normalise, "normalise", false, "scale every matrix to the Frobenius norm of the first, because shrinking a matrix alone raises its I1")
	fs.StringVar(&f.projector, "projector", "", "write the matrices to `DIR` as TensorBoard's projector reads them")
	fs.StringVar(&f.vec, "vec", "", "write the matrix to `FILE` as .vec text: a word a line, with its numbers")
	fs.BoolVar(&f.save, "save", false, "keep what is measured of runs in their folders, with the losses of parts of their test texts, for runs/compare")
	fs.IntVar(&f.rows, "rows", 0, "measure I1 and I2 on samples of `N` rows, as published for WikiText-103 with 40000; 0 is all rows")
	fs.IntVar(&f.samples, "samples", 10, "take the mean of `N` such samples")
	fs.Uint64Var(&f.seed, "seed", 1, "seed `N` of samples and of random directions")
	fs.IntVar(&f.threads, "threads", 0, "`N` CPU threads; 0 uses all that this process may use")
	usage := func(format string, args ...any) error {
		return &command.UsageError{Err: fmt.Errorf(format, args...)}
	}
	if err := about.Parse(fs, args, help); err != nil {
		return nil, err
	}
	if err := f.name(fs.Args()); err != nil {
		return nil, &command.UsageError{Err: err}
	}
	switch {
	case len(f.runs)+len(f.vectors) == 0:
		return nil, usage("nothing to analyze: give the folder of a training run with -run, or a file with -vectors")
	case f.rows < 0 || f.rows == 1:
		return nil, usage("-rows is %d: a sample needs at least 2 rows, and 0 stands for all", f.rows)
	case f.samples < 1:
		return nil, usage("-samples is %d: at least 1 is needed", f.samples)
	case f.threads < 0:
		return nil, usage("-threads is %d: it cannot be negative", f.threads)
	case f.states < 0:
		return nil, usage("-states is %d: it cannot be negative", f.states)
	case f.vec != "" && len(f.runs)+len(f.vectors) > 1:
		return nil, usage("-vec writes one matrix, and %d are named: leave out all but one", len(f.runs)+len(f.vectors))
	case f.save && (len(f.vectors) > 0 || f.normalise):
		return nil, usage("-save keeps measures of runs as they are: name no files of vectors with it, and leave -normalise out")
	case f.vocabulary == "" && f.namedOnly:
		return nil, usage("-named-only goes by the words of -vocab: give that too")
	case len(f.runs) > 0 && (f.vocabulary != "" || f.tensor != ""):
		return nil, usage("-tensor and -vocab are for matrices from files, and %s is a run, whose output matrix has its own words", f.runs[0])
	}
	for _, path := range f.vectors {
		file, tensor := splitName(path)
		switch {
		case !isVectorFile(file):
			return nil, usage("-vectors %s: the name should end in .safetensors (with or without :NAME), .vec, .txt, .bin or .gz, or be a folder with a checkpoint in safetensors", path)
		case f.tensor != "" && (tensor != "" || !holdsWeights(file)):
			return nil, usage("-tensor %s: %s names its matrix itself: leave one of them out", f.tensor, path)
		}
	}
	return f, nil
}

// name sorts what stands on the command line without a flag: after -run they are runs, else what each is found to be.
func (f *flags) name(args []string) error {
	for _, arg := range args {
		file, _ := splitName(arg)
		_, missing := os.Stat(file)
		_, noRun := os.Stat(filepath.Join(file, experiment.ConfigFile))
		switch {
		case len(f.runs) > 0 && len(f.vectors) == 0 || missing == nil && noRun == nil:
			f.runs = append(f.runs, arg)
		case missing != nil:
			return fmt.Errorf("there is no file or folder %q: name run folders with -run, files of vectors with -vectors", arg)
		default:
			f.vectors = append(f.vectors, arg)
		}
	}
	return nil
}

// sources are what to analyze, in the order of the table.
func (f *flags) sources() []source {
	var all []source
	names := shortNames(f.runs)
	for i, folder := range f.runs {
		all = append(all, runFolder{folder, names[i], f.states, f.save})
	}
	for _, path := range f.vectors {
		file, tensor := splitName(path)
		name := filepath.Base(filepath.Clean(file))
		if tensor = cmp.Or(tensor, f.tensor); tensor != "" {
			name += ":" + tensor
		}
		all = append(all, vectorFile{file, tensor, name, f.vocabulary, f.namedOnly})
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
func (f *flags) draws() bool { return f.out != "" || !f.json && len(f.runs) > 0 }

// folder is where the pictures go: -out, the plots of the one run, or plots in the folder that all runs lie in.
func (f *flags) folder() (string, error) {
	switch {
	case f.out != "":
		return f.out, nil
	case len(f.runs) == 1:
		return filepath.Join(f.runs[0], record.PlotsDir), nil
	}
	common := ""
	for i, folder := range f.runs {
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
