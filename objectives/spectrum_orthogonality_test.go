package objectives

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

func golden(t *testing.T) (map[string]torch.Tensor, map[string]Prior) {
	t.Helper()
	tensors, metadata, err := torch.ReadSafetensors("testdata/spectrum.safetensors", device)
	if err != nil {
		t.Fatal(err)
	}
	var constants map[string]struct{ C1, C2, Gamma float64 }
	if err := json.Unmarshal([]byte(metadata["priors"]), &constants); err != nil {
		t.Fatal(err)
	}
	priors := map[string]Prior{}
	for name, c := range constants {
		p := Prior{Scale: c.C1, Rate: c.C2, Power: c.Gamma}
		if name == "polynomial" {
			p.Kind = Polynomial
		}
		priors[name] = p
	}
	return tensors, priors
}

// leaf is a copy of x that collects gradients.
func leaf(x torch.Tensor, dtype torch.DType) torch.Tensor {
	x = x.To(dtype, device).Clone()
	x.SetRequiresGrad(true)
	return x
}

// unit is a vector of length 1 with a part in every direction.
func unit(k int64, dtype torch.DType) torch.Tensor {
	v := torch.NewStream(5, "direction").Normal(0, 1, dtype, device, k)
	return v.Div(v.Norm(0, true))
}

// TestOrthogonalityEqualsPyTorch compares value and gradient of both norms, at
// matrices near and far from orthonormal ones, with what eigenvalues give.
func TestOrthogonalityEqualsPyTorch(t *testing.T) {
	for _, c := range []struct{ name, at string }{
		{"frobenius_u", "u"}, {"frobenius_v", "v"}, {"frobenius_orthonormal", "q"},
		{"spectral_u", "u"}, {"spectral_v", "v"}, {"spectral_wide", "wide"}, {"spectral_orthonormal", "q"},
	} {
		for dtype, limit := range map[torch.DType]float64{torch.Float64: 1e-9, torch.Float32: 2e-5} {
			t.Run(c.name+"/"+dtype.String(), func(t *testing.T) {
				torch.Test(t, func() {
					g, _ := golden(t)
					x := leaf(g[c.at], dtype)
					var direction torch.Tensor
					o := torch.OrthogonalityOptions{Frobenius: 1}
					if c.name[0] == 's' {
						direction = unit(x.Size(1), dtype)
						o = torch.OrthogonalityOptions{Spectral: 1, Iterations: 2000}
					}
					value := torch.Orthogonality(x, direction, o)
					near(t, "value", value.Float64s(), g["penalty/"+c.name+"/value"].Float64s(), limit)
					if want := g["penalty/"+c.name+"/grad"]; want.Defined() {
						value.Backward()
						near(t, "gradient", x.Grad().Float64s(), want.Float64s(), limit)
					}
				})
			})
		}
	}
}

// TestOrthogonalityEqualsReference compares the fused operator with plain ones,
// for odd shapes, and its gradient with finite differences.
func TestOrthogonalityEqualsReference(t *testing.T) {
	for _, shape := range [][2]int64{{47, 31}, {31, 31}, {4, 1}, {1, 1}, {3, 5}, {0, 2}} {
		t.Run(fmt.Sprint(shape), func(t *testing.T) {
			torch.Test(t, func() {
				s := torch.NewStream(7, "matrix")
				start := s.Normal(0, 0.4, torch.Float64, device, shape[0], shape[1])
				direction := unit(shape[1], torch.Float64)
				o := torch.OrthogonalityOptions{Frobenius: 0.7, Spectral: 1.3, Iterations: 3}
				x, plain := leaf(start, torch.Float64), leaf(start, torch.Float64)
				value := torch.Orthogonality(x, direction, o)
				want := torch.OrthogonalityReference(plain, direction, o)
				near(t, "value", value.Float64s(), want.Float64s(), 1e-12)
				value.MulScalar(2.5).Backward()
				want.MulScalar(2.5).Backward()
				near(t, "gradient", x.Grad().Float64s(), plain.Grad().Float64s(), 1e-12)

				elements := start.Float64s()
				differences := make([]float64, len(elements))
				at := func(i int, step float64) float64 {
					moved := append([]float64(nil), elements...)
					moved[i] += step
					m := torch.FromFloat64s(moved, device, shape[0], shape[1])
					return 2.5 * torch.OrthogonalityReference(m, direction, o).Item()
				}
				for i := range elements {
					differences[i] = (at(i, 1e-5) - at(i, -1e-5)) / 2e-5
					if i > 40 {
						differences = differences[:i+1]
						break
					}
				}
				near(t, "finite differences", x.Grad().Float64s()[:len(differences)], differences, 1e-7)
			})
		})
	}
}

// TestDirectionFollowsTheMatrix shows why few steps of power iteration suffice:
// kept between updates, the vector finds the norm.
func TestDirectionFollowsTheMatrix(t *testing.T) {
	torch.Test(t, func() {
		g, _ := golden(t)
		direction := unit(g["wide"].Size(1), torch.Float64)
		o := torch.OrthogonalityOptions{Spectral: 1, Iterations: powerIterations}
		want := g["penalty/spectral_wide/value"].Item()
		before := 0.0
		for update := range 200 {
			value := torch.Orthogonality(g["wide"], direction, o).Item()
			if value < before*(1-1e-12) || value > want*(1+1e-12) {
				t.Fatalf("update %d: the estimate went from %v to %v, the norm is %v", update, before, value, want)
			}
			before = value
		}
		near(t, "the last estimate", []float64{before}, []float64{want}, 1e-3)
	})
}

func TestOrthogonalityRefusesWhatDoesNotFit(t *testing.T) {
	torch.Test(t, func() {
		for _, operands := range [][2]torch.Tensor{
			{unit(3, torch.Float64), {}},
			{torch.Zeros(torch.Float64, device, 4, 3), unit(4, torch.Float64)},
		} {
			err := torch.Try(func() error {
				torch.Orthogonality(operands[0], operands[1], torch.OrthogonalityOptions{Frobenius: 1})
				return nil
			})
			if err == nil {
				t.Errorf("a matrix of shape %v was taken", operands[0].Shape())
			}
		}
	})
}

func TestPriorsEqualPyTorch(t *testing.T) {
	torch.Test(t, func() {
		g, priors := golden(t)
		for name, prior := range priors {
			near(t, name, prior.Values(7, 0), g["prior/"+name].Float64s(), 1e-12)
			s := leaf(g["s"], torch.Float64)
			r := SpectrumPrior{Prior: prior, Weight: 1, s: s, values: g["prior/"+name]}
			value := r.Penalty()
			value.Backward()
			near(t, name+" value", value.Float64s(), g["penalty/"+name+"/value"].Float64s(), 1e-12)
			near(t, name+" gradient", s.Grad().Float64s(), g["penalty/"+name+"/grad"].Float64s(), 1e-12)
		}
	})
}
