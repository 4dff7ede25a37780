package checkpoint

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// announced is scenario, which prints a line for each state that is said to be saved.
func announced(s Store) error {
	fixtures.BeginFaults()
	if err := s.Recover(); err != nil {
		return err
	}
	for generation, step := range []int{1, 2, 3, 3} {
		if err := s.Save(step, state(fmt.Sprint(generation+1)), nil); err != nil {
			return err
		}
		fmt.Println("saved", generation+1)
		if step == 1 {
			if err := s.MarkBest(1); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestFaults lets every call by which checkpoints are written fail once. The error is a sentence, what was said to be
// saved is there, whole, and work goes on from there once the disk works again.
func TestFaults(t *testing.T) {
	n := fixtures.Faults(t, func(folder string) (*exec.Cmd, func(fixtures.Fault, string, error)) {
		s := Store{Dir: filepath.Join(folder, "checkpoints"), Keep: 1}
		return child("announced", s.Dir), func(f fixtures.Fault, output string, err error) {
			saved, said := 0, ""
			for line := range strings.Lines(output) {
				if _, err := fmt.Sscanf(line, "saved %d\n", new(int)); err == nil {
					fmt.Sscanf(line, "saved %d\n", &saved)
				} else {
					said += line
				}
			}
			if err != nil && f.Error != "SIGKILL" {
				fixtures.Sentence(t, strings.TrimSuffix(said, "\n"))
			}
			if err := s.Recover(); err != nil {
				t.Fatal(f, err)
			}
			found, _, missing := s.Latest()
			newest := 0
			if missing == nil {
				fmt.Sscanf(read(t, found, "state.json"), `{"generation": "%d"}`, &newest)
			} else if !errors.Is(missing, ErrNone) {
				t.Error(f, missing)
			}
			if newest < saved || newest > saved+1 {
				t.Errorf("%v: generation %d was saved, and %d is the newest\n%s", f, saved, newest, output)
			}
			save(t, s, 9, "after")
			if found, warnings, err := s.Latest(); err != nil || found.Step != 9 || len(warnings) > 0 {
				t.Error(f, found, warnings, err)
			}
			for _, name := range names(t, s.Dir) {
				if strings.HasSuffix(name, tempSuffix) {
					t.Errorf("%v: %s is still there", f, name)
				}
			}
		}
	})
	t.Logf("%d faults", n)
	if n < 60 {
		t.Errorf("only %d faults were tried", n)
	}
}
