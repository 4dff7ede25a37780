package torch

// #include "api.h"
import "C"

import (
	"fmt"
	"math"
)

// VMFNormaliser gives log C_m(kappa) and A_m(kappa) = -d log C_m / d kappa, element by element and in float64: the
// normaliser of the von Mises-Fisher density of unit vectors e with m components,
//
//	p(e) = C_m(kappa) exp(kappa u . e),   C_m(kappa) = kappa^v / ((2 pi)^(m/2) I_v(kappa)),   v = m/2 - 1,
//
// for a unit vector u and kappa >= 0. Gradients flow through the first result, not
// through the second. Over m from 1 to 2048 and kappa from 0 to 1e5 the errors are
// below 1e-10 in log C and 1e-14 of A itself; see csrc/losses/vmf.cc for the method.
func VMFNormaliser(kappa Tensor, m int64) (logC, a Tensor) {
	const op = "VMFNormaliser"
	var c, r C.ap_tensor
	return madeTwo(op, C.ap_vmf_normaliser(kappa.c(op), C.int64_t(m), &c, &r), &c, &r, kappa)
}

// VMFNormaliserReference is VMFNormaliser for one number, by two methods that share
// nothing with it: log C from the power series of I_v summed outwards from its largest
// term, A from its continued fraction. Both take time in proportion to kappa.
func VMFNormaliserReference(kappa float64, m int64) (logC, a float64) {
	if !(kappa >= 0) || math.IsInf(kappa, 1) || m < 1 {
		panic(&Error{Op: "VMFNormaliserReference",
			Message: fmt.Sprintf("kappa is %v and m is %d; they must be finite, kappa at least 0 and m at least 1",
				kappa, m)})
	}
	v := float64(m)/2 - 1
	return -float64(m)/2*math.Log(2*math.Pi) - logBesselSeries(v, kappa), besselQuotient(v, kappa)
}

// logBesselSeries is log(kappa^-v I_v(kappa)): the log of the sum over k of (kappa^2/4)^k 2^-v / (k! Gamma(v+k+1)).
func logBesselSeries(v, kappa float64) float64 {
	x := kappa * kappa / 4
	// the ratio of terms k+1 and k, x/((k+1)(v+k+1)), passes 1 here
	peak := math.Floor((math.Sqrt(v*v+kappa*kappa) - v) / 2)
	sum, lost := 1.0, 0.0 // in units of the peak's term, with Kahan's correction
	add := func(term float64) bool {
		y := term - lost
		next := sum + y
		lost, sum = next-sum-y, next
		return term > 1e-18*sum
	}
	for k, term := peak, 1.0; ; k++ {
		term *= x / ((k + 1) * (v + k + 1))
		if !add(term) {
			break
		}
	}
	for k, term := peak, 1.0; k > 0; k-- {
		term *= k * (v + k) / x
		if !add(term) {
			break
		}
	}
	log := math.Log(sum) - v*math.Ln2
	if peak > 0 {
		log += peak * math.Log(x)
	}
	factorial, _ := math.Lgamma(peak + 1)
	gamma, _ := math.Lgamma(v + peak + 1)
	return log - factorial - gamma
}

// besselQuotient is I_(v+1)(kappa)/I_v(kappa) by the continued fraction
// 1/(2(v+1)/kappa + 1/(2(v+2)/kappa + ...)), from far behind its convergence forwards.
func besselQuotient(v, kappa float64) float64 {
	if kappa == 0 {
		return 0
	}
	q := 0.0
	for n := math.Ceil(60 + 4*math.Sqrt(kappa) + kappa); n >= 1; n-- {
		q = 1 / (2*(v+n)/kappa + q)
	}
	return q
}
