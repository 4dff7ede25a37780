package objectives

import "github.com/aperture-ml/aperture/torch"

// istar is the method: a penalty of hidden states.
var istar = Method{
	Name:    "istar",
	Summary: "makes the variances of the hidden states along their principal components more, or less, equal",
	Paper:   "Rudman and Eickhoff 2024",
	Formula: "mle + istar (1 - IsoScore*(h)), IsoScore* = ((tr S)^2 / |S|^2 - 1) / (D - 1), " +
		"S = (1 - istar_zeta) cov(h) + istar_zeta S_0, in training only",
	Parameters: "none", Cost: "3 N D^2 multiplications, and (D + 1)^2 sums per update where processes share it",
	Settings: []any{IStarSettings{}},
	Build: func(s Settings, _ bool) Pieces {
		o := Of[IStarSettings](s)
		return Pieces{States: []StatePenalty{&IStar{Weight: o.IStar, Zeta: o.IStarZeta, Every: o.IStarUpdates}}}
	},
}

// IStarSettings are the keys of I-STAR.
type IStarSettings struct {
	IStar        float64 `toml:"istar" default:"-0.1" range:"(-inf,inf)" help:"istar: weight of 1 - IsoScore*; above 0 hidden states get more isotropic, below 0 less"`
	IStarZeta    float64 `toml:"istar_zeta" default:"0.2" range:"[0,1]" help:"istar: share of the stable covariance; 0 takes that of the batch alone"`
	IStarUpdates int     `toml:"istar_updates" default:"200" range:"[1,inf)" help:"istar: updates whose hidden states make the stable covariance of the updates after them"`
}

// IStar is I-STAR (Rudman and Eickhoff 2024, "Stable anisotropic regularization"), the penalty
//
//	weight (1 - IsoScore*(X)),  S = (1 - zeta) cov(X) + zeta S_0
//
// of the hidden states X [N,D] of a batch. With l the D singular values of S, their IsoScore* is
//
//	((D - d^2 (D - sqrt D))^2 - D) / (D (D-1)),  d = |sqrt(D) l / |l| - 1| / sqrt(2 (D - sqrt D))
//
// which is 1 where all are equal. Expanding the square gives d^2 = (D - sqrt(D) sum l / |l|) / (D - sqrt D), and so
//
//	IsoScore* = (k - 1) / (D - 1),  k = (sum l)^2 / sum l^2 = (tr S)^2 / |S|^2
//
// the share of dimensions that are in use. Trace and Frobenius norm need no singular values, whose gradients are
// unstable where two are close. Cost: the covariance and its two gradients, 3 N D^2 multiplications.
//
// The authors find that states which are less isotropic serve better, with weights below 0, which contradicts the
// papers on narrow cones. They fine-tune; their example has -5 and zeta 0.2. Training from fresh weights learns more
// slowly with such a weight, so that the default is -0.1.
//
// S_0 steadies the covariance of a batch that has fewer states than columns. The authors sample it from the model in
// evaluation before each epoch, and say to take the identity without a sample. Departure: it is the covariance of the
// training states of Every updates, taken anew each time that many have passed, since an epoch of a large corpus is the
// whole run; the identity before. They take all layers at once, here it is the last. Where an update has several
// batches each pays by its own covariance, in proportion to its targets.
type IStar struct {
	Weight, Zeta float64
	Every        int // updates

	width     int64        // D
	stable_DD torch.Tensor // S_0
	// Sums over states with a one behind them, [h; 1] [h; 1]^T: of the update so far, and of the updates since S_0 was
	// taken, in float64.
	update, window torch.Tensor
	updates        torch.Tensor // [1], on the host: in the window
}

// Name is "istar_penalty".
func (r *IStar) Name() string { return "istar_penalty" }

// Init makes S_0 and the sums, where they are wanted.
func (r *IStar) Init(p Config) error {
	r.width = p.hidden()
	if r.Zeta == 0 {
		return nil
	}
	scope := torch.OpenScope()
	defer scope.Close()
	d := r.width
	r.stable_DD = identity(d, p.dtype(), p.Device)
	r.update = torch.Zeros(torch.Float64, p.Device, d+1, d+1)
	r.window = torch.Zeros(torch.Float64, p.Device, d+1, d+1)
	r.updates = torch.Zeros(torch.Float64, torch.CPU, 1)
	p.share(r.update)
	p.buffer("istar.stable_covariance", r.stable_DD)
	p.buffer("istar.sums", r.window)
	p.buffer("istar.updates", r.updates)
	return nil
}

// Penalty is the weighted 1 - IsoScore* of a batch's states, times their share of the update. A single state, and
// states of a single column, pay nothing.
func (r *IStar) Penalty(h_ND torch.Tensor, _ torch.States, scale float64) torch.Tensor {
	n, d := h_ND.Size(0), h_ND.Size(1)
	if n < 2 || d < 2 {
		return torch.Zeros(h_ND.DType(), h_ND.Device())
	}
	mean_1D := h_ND.MeanDim(0, true)
	centred_ND := h_ND.Sub(mean_1D)
	scatter_DD := centred_ND.Transpose(0, 1).MatMul(centred_ND)
	covariance_DD := scatter_DD.MulScalar(1 / float64(n-1))
	if r.Zeta > 0 {
		if scale != 0 {
			torch.ScopedNoGrad(func() { r.update.Assign(r.update.Add(sumsOf(scatter_DD, mean_1D, n))) })
		}
		covariance_DD = covariance_DD.MulScalar(1 - r.Zeta).Add(r.stable_DD.MulScalar(r.Zeta))
	}
	return isoScoreStar(covariance_DD).Neg().AddScalar(1).MulScalar(r.Weight * scale * float64(n))
}

// isoScoreStar is that of a covariance [D,D].
func isoScoreStar(covariance_DD torch.Tensor) torch.Tensor {
	d := covariance_DD.Size(0)
	diagonal := torch.Arange(d, covariance_DD.Device()).Reshape(-1, 1)
	trace := covariance_DD.Gather(1, diagonal).Sum()
	squares := covariance_DD.Square().Sum().ClampMin(1e-30) // its inverse, of which gradients are made, is finite
	return trace.Square().Div(squares).AddScalar(-1).MulScalar(1 / float64(d-1))
}

// sumsOf are the sums of n states with a one behind them, from their scatter around the mean.
func sumsOf(scatter_DD, mean_1D torch.Tensor, n int64) torch.Tensor {
	device, count := mean_1D.Device(), float64(n)
	mean_1D = mean_1D.To(torch.Float64, device)
	sum_1D := mean_1D.MulScalar(count)
	products_DD := scatter_DD.To(torch.Float64, device).Add(mean_1D.Transpose(0, 1).MatMul(sum_1D))
	top := torch.Cat([]torch.Tensor{products_DD, sum_1D.Transpose(0, 1)}, 1)
	bottom := torch.Cat([]torch.Tensor{sum_1D, torch.Full(count, torch.Float64, device, 1, 1)}, 1)
	return torch.Cat([]torch.Tensor{top, bottom}, 0)
}

// covarianceOf is that of the states whose sums these are.
func covarianceOf(sums torch.Tensor) (covariance_DD torch.Tensor) {
	d := sums.Size(0) - 1
	products_DD, sum_D1 := sums.Narrow(0, 0, d).Narrow(1, 0, d), sums.Narrow(0, 0, d).Narrow(1, d, 1)
	n_11 := sums.Narrow(0, d, 1).Narrow(1, d, 1)
	scatter_DD := products_DD.Sub(sum_D1.MatMul(sum_D1.Transpose(0, 1)).Div(n_11))
	return scatter_DD.Div(n_11.AddScalar(-1).ClampMin(1))
}

// endUpdate adds the update's sums to those of the window, and ends the window when it is full.
func (r *IStar) endUpdate() {
	if r.Zeta == 0 {
		return
	}
	torch.ScopedNoGrad(func() {
		sums := r.window.Add(r.update)
		r.update.Assign(r.update.MulScalar(0))
		count := int(r.updates.Item()) + 1
		states := sums.Narrow(0, r.width, 1).Narrow(1, r.width, 1)
		if count >= r.Every && states.Item() > 1 { // a single state has no covariance
			r.stable_DD.Assign(covarianceOf(sums).To(r.stable_DD.DType(), r.stable_DD.Device()))
			sums, count = sums.MulScalar(0), 0
		}
		r.window.Assign(sums)
		r.updates.Assign(torch.Full(float64(count), torch.Float64, torch.CPU, 1))
	})
}

// Operations are those of the covariance, forward and backward.
func (r *IStar) Operations(w Work) torch.Operations {
	return torch.ProductOperations(r.width, int64(len(w.Targets)), r.width)
}

// identity is the matrix of ones on the diagonal.
func identity(d int64, dtype torch.DType, device torch.Device) torch.Tensor {
	places := torch.Arange(d, device)
	return places.Reshape(d, 1).Equal(places).To(dtype, device)
}
