package objectives

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// PyTorch counts the products of a program of plain operators, forward and backward, as every output layer counts its
// own.
func TestOperations(t *testing.T) {
	var golden map[string]float64
	data, err := os.ReadFile("testdata/operations.json")
	if err == nil {
		err = json.Unmarshal(data, &golden)
	}
	if err != nil {
		t.Fatal(err)
	}
	targets := []int64{0, 1, 7, 8, 8, 19, 20, 46, 30, 3, 2}
	for name, want := range golden {
		torch.Test(t, func() {
			s := unsmoothed()
			s.Set("mixture_components", 3, "adaptive_cutoffs", "8,20")
			method, lookup := strings.CutPrefix(name, "a lookup of ")
			if narrow, is := strings.CutSuffix(method, ", narrow"); is {
				method = narrow
				s.Set("adaptive_divisor", 2)
			}
			s.Method = method
			p := config(47, 9, -1)
			p.Vectors = torch.NewStream(2, "vectors").Normal(0, 1, torch.Float64, torch.CPU, 47, 7)
			o := layer(t, s, p)
			defer release(o, p)
			got := o.Operations(targets)
			if lookup {
				got = o.LookupOperations(int64(len(targets)))
			}
			if got.All() != want {
				t.Errorf("%s: %v operations, and PyTorch counts %v", name, got.All(), want)
			}
		})
	}
}

// What is made once in an update, by hand: V = 47, D = 9.
func TestUpdateOperations(t *testing.T) {
	gram := 2.0 * 9 * 9
	for name, want := range map[string]float64{
		"mle": 0, "cosreg": 0, "spectrum": 2 * gram * (47 + 9), "spectrum+cosreg": 2*gram*(47+9) + 3*gram*47, "vmf": 0,
	} {
		torch.Test(t, func() {
			s := unsmoothed()
			s.Method = name
			p := config(47, 9, -1)
			p.Vectors = torch.NewStream(2, "vectors").Normal(0, 1, torch.Float64, torch.CPU, 47, 7)
			o := layer(t, s, p)
			defer release(o, p)
			if got := o.UpdateOperations().All(); got != want {
				t.Errorf("%s: %v operations, not %v", name, got, want)
			}
		})
	}
}

// TestUncounted: every piece of every method is counted; one that is not is named, and left out.
func TestUncounted(t *testing.T) {
	for name, s := range trained() {
		if unknown := (&Output{method: resolved(s)}).Uncounted(); len(unknown) > 0 {
			t.Errorf("%s: %v are not counted", name, unknown)
		}
	}
	for name, s := range continuousMethods() {
		if unknown := (&Output{method: resolved(s)}).Uncounted(); len(unknown) > 0 {
			t.Errorf("%s: %v are not counted", name, unknown)
		}
	}
	o := &Output{method: Pieces{Embedding: &Dense{}, Likelihood: score{}, Perturbation: &Adversarial{},
		Regularizers: []Regularizer{&DOptimal{}}}}
	if got := o.Uncounted(); len(got) != 1 || got[0] != "objectives.score" {
		t.Errorf("the pieces that are not counted are %v", got)
	}
	if got := o.Operations([]int64{1, 2}).All(); got != 0 {
		t.Errorf("%v operations of pieces that multiply nothing that is known", got)
	}
}
