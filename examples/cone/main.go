// Command cone measures how narrow a cone the rows of a matrix form: any matrix of any safetensors file.
//
//	go run ./examples/cone model.safetensors                              # lists the file's matrices
//	go run ./examples/cone model.safetensors decoder.embed_tokens.weight  # measures one
package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/aperture-ml/aperture/objectives/measures"
	"github.com/aperture-ml/aperture/torch"
)

func main() {
	if len(os.Args) < 2 || len(os.Args) > 3 {
		fmt.Fprintln(os.Stderr, "usage: cone FILE.safetensors [TENSOR]")
		os.Exit(2)
	}
	err := torch.Main(func() error {
		if len(os.Args) == 2 {
			return list(os.Args[1], os.Stdout)
		}
		return cone(os.Args[1], os.Args[2], os.Stdout)
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// list prints the names and shapes of a file's matrices.
func list(path string, out io.Writer) error {
	scope := torch.OpenScope() // owns every tensor made below
	defer scope.Close()
	tensors, _, err := torch.ReadSafetensors(path, torch.CPU)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		if shape := tensors[name].Shape(); len(shape) == 2 {
			fmt.Fprintf(out, "%s %v\n", name, shape)
		}
	}
	return nil
}

// cone prints what package measures says of the matrix W [V,D] of that name.
func cone(path, name string, out io.Writer) error {
	scope := torch.OpenScope()
	defer scope.Close()
	tensors, _, err := torch.ReadSafetensors(path, torch.CPU)
	if err != nil {
		return err
	}
	w_VD, found := tensors[name]
	if !found {
		return fmt.Errorf("%s has no tensor %q: leave the name out to list its matrices", path, name)
	}
	if shape := w_VD.Shape(); len(shape) != 2 {
		return fmt.Errorf("%s: %s has the shape %v: a matrix of word vectors has two dimensions", path, name, shape)
	}
	m := measures.Measure(w_VD) // in float64, and never with a matrix of V times V
	fmt.Fprintf(out, "mean cosine      %.4f   0: rows point everywhere; 1: all the same way\n", m.MeanCosine)
	fmt.Fprintf(out, "I1, I2           %.4f %.4f   1 and 0 where the rows are isotropic\n", m.I1, m.I2)
	fmt.Fprintf(out, "smallest/largest %.4f   of the singular values\n", m.SigmaRatio)
	fmt.Fprintf(out, "effective rank   %.1f of %d\n", m.EffectiveRank, len(m.SingularValues))
	fmt.Fprintf(out, "singular values ")
	for _, s := range m.SingularValues[:min(5, len(m.SingularValues))] {
		fmt.Fprintf(out, " %.3g", s)
	}
	fmt.Fprintln(out, " ...")
	return nil
}
