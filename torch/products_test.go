package torch_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aperture-ml/aperture/torch"
)

// share is the part of f's time that products take: the largest of ten, since the
// first ones set up what later ones use and the machine may have other work. One
// thread does it all, since waiting for another is no product.
func share(f func()) float64 {
	defer torch.SetThreads(torch.Threads())
	torch.SetThreads(1)
	largest := 0.0
	for range 10 {
		start := time.Now()
		seconds := torch.InProducts(f)
		largest = max(largest, seconds/time.Since(start).Seconds())
	}
	return largest
}

// TestInProducts: elementwise work counts nothing, products count nearly all of
// their own time in either direction, and nothing twice.
func TestInProducts(t *testing.T) {
	torch.Test(t, func() {
		stream := torch.NewStream(1, "products")
		a := stream.Normal(0, 1, torch.Float32, device, 500, 500)
		a.SetRequiresGrad(true)
		b := stream.Normal(0, 1, torch.Float32, device, 3, 500, 500)
		if got := torch.InProducts(func() { a.Mul(a).Exp().Sum().Backward() }); got != 0 {
			t.Errorf("elementwise work spends %v s in products", got)
		}
		for name, f := range map[string]func(){
			"mm":     func() { a.MatMul(a) },
			"linear": func() { torch.Linear(b, a, torch.Tensor{}) },
			"bmm":    func() { b.MatMul(b) },
			// Two of three products are backward ones: a third would be seen without them.
			"both": func() { a.MatMul(a).Sum().Backward() },
		} {
			if got := share(f); got < 0.45 || got > 1 {
				t.Errorf("%s: products take %.2f of the time", name, got)
			}
		}
	})
}

// TestInProductsSeesRecurrentSteps: an LSTM layer of one input has its products in
// its steps.
func TestInProductsSeesRecurrentSteps(t *testing.T) {
	notOnGPU(t, "cuDNN has its products to itself")
	torch.Test(t, func() {
		const steps, columns, width = 30, 14, 512
		normal := func(shape ...int64) torch.Tensor {
			return torch.NewStream(1, "products").Normal(0, 0.1, torch.Float32, device, shape...)
		}
		w := torch.LSTMWeights{Input: normal(4*width, 1), Hidden: normal(4*width, width), InputBias: normal(4 * width),
			HiddenBias: normal(4 * width)}
		x := normal(steps, columns, 1)
		torch.NoGrad(func() {
			got := share(func() { torch.LSTM(x, torch.Tensor{}, torch.Tensor{}, w, torch.LSTMOptions{}) })
			// Where steps go unseen, 0.02 to 0.10 is left, of the input's product, which with 100 steps would hide them.
			if got < 0.3 || got > 1 {
				t.Errorf("products take %.2f of the time", got)
			}
		})
	})
}

func TestInProductsIsNotNested(t *testing.T) {
	torch.Test(t, func() {
		err := torch.Try(func() error {
			torch.InProducts(func() { torch.InProducts(func() {}) })
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), "already") {
			t.Errorf("the error is %v", err)
		}
		a := torch.Full(1, torch.Float32, device, 50, 50)
		if got := torch.InProducts(func() { a.MatMul(a) }); got <= 0 {
			t.Errorf("after that a product takes %v s", got)
		}
	})
}
