package torch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestLinearOfFewRows: without gradients a few rows take another way than many. It
// gives the same values, for any number of threads, and gradients where they count.
func TestLinearOfFewRows(t *testing.T) {
	defer torch.SetThreads(0)
	for _, c := range []struct {
		shape []int64
		out   int64
	}{
		{[]int64{1, 1}, 1}, {[]int64{1, 47}, 31}, {[]int64{2, 47}, 4}, {[]int64{3, 400}, 2003}, {[]int64{4, 47}, 31},
		{[]int64{1, 3, 31}, 130}, {[]int64{700}, 900}, {[]int64{0, 31}, 47}, {[]int64{2, 31}, 0},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			torch.Test(t, func() {
				s := torch.NewStream(3, "inputs")
				in := c.shape[len(c.shape)-1]
				normal := func(shape ...int64) torch.Tensor { return s.Normal(0, 1, torch.Float32, device, shape...) }
				x, w, bias := normal(c.shape...), normal(c.out, in), normal(c.out)
				rows := x.Reshape(-1, in).To(torch.Float64, device)
				if slices.Contains(c.shape, 0) {
					rows = torch.Zeros(torch.Float64, device, 0, in)
				}
				want := rows.MatMul(w.To(torch.Float64, device).Transpose(0, 1))
				torch.SetThreads(1)
				single := torch.Linear(x, w, bias)
				if shape := append(slices.Clone(c.shape[:len(c.shape)-1]), c.out); !slices.Equal(single.Shape(), shape) {
					t.Fatalf("the shape is %v, want %v", single.Shape(), shape)
				}
				near(t, "with a bias", single, want.Add(bias.To(torch.Float64, device)))
				near(t, "without", torch.Linear(x, w, torch.Tensor{}), want)
				torch.SetThreads(3)
				if !slices.Equal(single.Float32s(), torch.Linear(x, w, bias).Float32s()) {
					t.Error("three threads give other bits than one")
				}
				for _, leaf := range []torch.Tensor{x, w, bias} {
					leaf.SetRequiresGrad(true)
					torch.Linear(x, w, bias).Sum().Backward()
					if !leaf.Grad().Defined() {
						t.Error("there is no gradient")
					}
					leaf.SetRequiresGrad(false)
				}
			})
		})
	}
	torch.Test(t, func() {
		zeros := func(shape ...int64) torch.Tensor { return torch.Zeros(torch.Float32, device, shape...) }
		for _, rows := range []int64{3, 5} {
			for _, bias := range []torch.Tensor{zeros(3, 5), zeros(rows, 5), zeros(1), zeros(4)} {
				want := fmt.Sprintf("a bias of shape %v does not fit a weight of shape [5, 4]",
					strings.ReplaceAll(fmt.Sprint(bias.Shape()), " ", ", "))
				err := torch.Try(func() error { torch.Linear(zeros(rows, 4), zeros(5, 4), bias); return nil })
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%d rows: the error is %v, not %q", rows, err, want)
				}
			}
		}
	})
}
