package models

import "math"

// Schedule is the learning rate's course.
type Schedule struct {
	Kind       string  `toml:"kind" default:"inverse_sqrt" choice:"inverse_sqrt noam cosine linear constant step" help:"shape after the warm-up"`
	Warmup     int     `toml:"warmup" default:"4000" range:"[0,inf)" help:"updates over which the rate rises to its peak"`
	WarmupInit float64 `toml:"warmup_init" default:"0.0" range:"[0,inf)" help:"rate at the start of the warm-up"`
	Factor     float64 `toml:"factor" default:"1.0" range:"(0,inf)" help:"noam: factor before width^-0.5"`
	Minimum    float64 `toml:"minimum" default:"0.0" range:"[0,inf)" help:"the schedule never falls below this after the warm-up; plateau_decay and the lengths of train.bptt_random act on what it gives"`
	Period     int     `toml:"period" default:"0" range:"[0,inf)" help:"cosine, linear, step: updates from the start to the minimum; for cosine and linear 0 takes those of train.epochs, or else train.steps"`

	PlateauDecay    float64 `toml:"plateau_decay" default:"1.0" range:"(0,1]" help:"factor on the rate when validation stalls; 1 keeps it"`
	PlateauPatience int     `toml:"plateau_patience" default:"1" range:"[1,inf)" help:"validations without a better score before plateau_decay acts"`
}

// Rate returns the learning rate of the next update, after done updates, before
// any plateau decay. total is the length of the run in updates, or 0.
//
//	inverse_sqrt  fairseq's: rising linearly from warmup_init to peak over the
//	              warm-up, then peak sqrt(warmup/done); the very first rate is
//	              warmup_init
//	noam          Vaswani et al. (2017): factor width^-0.5 min(t^-0.5, t warmup^-1.5), t = done+1
//	cosine        the warm-up, then half a cosine down to minimum, which it reaches at
//	              update period, or, where that is 0, total
//	linear        the same along a straight line
//	constant      the warm-up, then peak
//	step          the warm-up, then peak, and from update period on minimum
func Rate(s Schedule, peak float64, width, total, done int) float64 {
	warmup, n := float64(s.Warmup), float64(done)
	if s.Kind == "noam" {
		t := n + 1
		if t < warmup {
			return s.Factor / math.Sqrt(float64(width)) * t * math.Pow(warmup, -1.5)
		}
		return math.Max(s.Factor/math.Sqrt(float64(width)*t), s.Minimum)
	}
	if n < warmup {
		return s.WarmupInit + n*(peak-s.WarmupInit)/warmup
	}
	rate := peak
	switch s.Kind {
	case "inverse_sqrt":
		rate = peak * math.Sqrt(math.Max(warmup, 1)/math.Max(n, 1))
	case "step":
		if done >= s.Period {
			rate = s.Minimum
		}
	case "cosine", "linear":
		period := float64(s.Period)
		if period == 0 {
			period = float64(total)
		}
		progress := 1.0
		if period > warmup {
			progress = math.Min(1, (n-warmup)/(period-warmup))
		}
		left := 1 - progress
		if s.Kind == "cosine" {
			left = (1 + math.Cos(math.Pi*progress)) / 2
		}
		rate = s.Minimum + (peak-s.Minimum)*left
	}
	return math.Max(rate, s.Minimum)
}
