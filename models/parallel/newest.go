package parallel

import (
	"errors"
	"fmt"

	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// Newest prepares a store for saving, and gives everyone its newest valid checkpoint as rank 0 finds it; warn gets what
// else it finds. fresh is set where there is none. Where there are some and none is valid it is an error: what is left
// of them is not to be overwritten.
func Newest(p *Peers, s checkpoint.Store, warn func(checkpoint.Warning)) (newest checkpoint.Checkpoint, fresh bool,
	err error) {
	step, err := OnFirst(p, func() (int, error) {
		if err := s.Recover(); err != nil {
			return 0, err
		}
		var warnings []checkpoint.Warning
		newest, warnings, err = s.Latest()
		for _, w := range warnings {
			warn(w)
		}
		if err != nil {
			return -1, noneIsDamaged(s, err)
		}
		return newest.Step, nil
	})
	if err == nil && step >= 0 && !p.First() {
		newest, err = s.At(step)
	}
	return newest, step < 0, err
}

// Best gives everyone the store's best valid checkpoint as rank 0 finds it, which marks it.
func Best(p *Peers, s checkpoint.Store, warn func(checkpoint.Warning)) (best checkpoint.Checkpoint, err error) {
	step, err := OnFirst(p, func() (int, error) {
		var warnings []checkpoint.Warning
		best, warnings, err = s.Best()
		for _, w := range warnings {
			warn(w)
		}
		return best.Step, err
	})
	if err == nil && !p.First() {
		best, err = s.At(step)
	}
	return best, err
}

// noneIsDamaged returns why a run without a valid checkpoint does not begin anew.
func noneIsDamaged(s checkpoint.Store, missing error) error {
	if !errors.Is(missing, checkpoint.ErrNone) {
		return missing
	}
	steps, err := s.Steps()
	if err != nil || len(steps) == 0 {
		return err
	}
	return fmt.Errorf("%w: restore one from a copy, or remove the folder to train from the beginning", missing)
}
