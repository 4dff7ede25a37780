package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
)

// lead trains the control until its best trial is known, where others follow it.
func (w *sweep) lead(ctx context.Context) (err error) {
	if w.Shared != "control" || w.settled {
		return nil
	}
	going := of(w.list, w.Control)
	for stage := 0; stage < w.stages() && len(going) > 1; stage++ {
		if err := w.do(ctx, w.searching(going, stage)); err != nil {
			return err
		}
		if going, err = w.goOn(going, stage, w.Control); err != nil {
			return err
		}
	}
	if len(going) > 1 { // a single one leads whatever its score
		if going, err = w.ranked(going, w.Control); err != nil {
			return err
		}
	}
	if len(going) == 0 {
		return fmt.Errorf("no trial of %s has a validation score, so that the other methods have no values of [keys] "+
			"to take: the logs in %s say why", w.Control, filepath.Join(w.folder, trialsDir))
	}
	if err := w.leaveFollowers(going[0]); err != nil {
		return err
	}
	if err := files.Write(filepath.Join(w.folder, leaderFile), []byte(going[0].name()+"\n")); err != nil {
		return err
	}
	return w.follow()
}

// follow gives the trials of the other methods the control's best values of [keys], as soon as these are known.
func (w *sweep) follow() error {
	path := filepath.Join(w.folder, leaderFile)
	name, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) || w.settled {
		return nil
	}
	if err != nil {
		return err
	}
	i := slices.IndexFunc(w.list, func(t trial) bool { return t.name() == strings.TrimSpace(string(name)) })
	if i < 0 {
		return fmt.Errorf("%s names %q, which is no trial of this sweep: remove the file, and -resume chooses anew",
			path, name)
	}
	values := w.sharedOf(w.list[i])
	for i, t := range w.list {
		if w.follows(t.method) {
			w.list[i].point = append(slices.Clip(values), t.point...)
		}
	}
	w.settled = true
	return nil
}

// sharedOf are a trial's values of [keys].
func (w *sweep) sharedOf(t trial) point {
	return slices.DeleteFunc(slices.Clone(t.point), func(s setting) bool {
		return !slices.ContainsFunc(w.shared, func(d dimension) bool { return d.key == s.key })
	})
}

// leaveFollowers sets aside the trials that followed another leader than the one that is to be.
func (w *sweep) leaveFollowers(leader trial) error {
	for _, t := range w.list {
		if !w.follows(t.method) {
			continue
		}
		same, err := sameValues(w.trialFolder(t), w.trialFolder(leader), w.sharedOf(leader))
		if err == nil && !same {
			err = errors.Join(w.undecide(t.method, 0), w.setAside(w.trialFolder(t), leader))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
