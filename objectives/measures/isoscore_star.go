package measures

import "github.com/aperture-ml/aperture/torch"

// Legend: N rows, D columns.

// IsoScoreStar is IsoScore* of rows [N,D] (Rudman and Eickhoff 2024): [Components.IsoScore] of
//
//	S = (1 - zeta) cov(X) + zeta S_0
//
// where cov has the divisor N - 1 and S_0 [D,D] is the covariance of a larger sample, or the zero Tensor for the
// identity, which the authors advise where there is none. Fewer rows than columns leave some directions without
// variance; S_0 gives them some, and steadies the score. With the identity the score depends on the scale of the rows.
// zeta 0 is IsoScore. It is NaN with fewer than two rows, and where nothing varies.
func IsoScoreStar(x_ND, stable_DD torch.Tensor, zeta float64) (score float64) {
	torch.ScopedNoGrad(func() {
		c := PrincipalComponents(x_ND)
		n, d := float64(x_ND.Size(0)), x_ND.Size(1)
		scale := (1 - zeta) * n / (n - 1) // the variances have the divisor N
		if !stable_DD.Defined() {
			for i := range c.Variances {
				c.Variances[i] = c.Variances[i]*scale + zeta
			}
			score = c.IsoScore()
			return
		}
		variances_D := torch.FromFloat64s(c.Variances, torch.CPU, d)
		covariance_DD := c.axes_DD.Mul(variances_D.MulScalar(scale)).MatMul(c.axes_DD.Transpose(0, 1))
		values, _ := covariance_DD.Add(stable_DD.To(torch.Float64, torch.CPU).MulScalar(zeta)).Eigh()
		c.Variances = values.Float64s()
		score = c.IsoScore()
	})
	return score
}

// ShrunkIsoScore is IsoScore* with equal variances for S_0, of the mean of those of the rows. It does not depend on
// scale, and gives a sample of few rows, whose IsoScore is too low, some of the variance that its rows do not show.
func (c Components) ShrunkIsoScore(zeta float64) float64 {
	mean := sum(c.Variances) / float64(len(c.Variances))
	shrunk := Components{Variances: make([]float64, len(c.Variances))}
	for i, v := range c.Variances {
		shrunk.Variances[i] = (1-zeta)*v + zeta*mean
	}
	return shrunk.IsoScore()
}
