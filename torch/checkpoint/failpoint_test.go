package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// Names of what a re-executed test binary does instead of testing, in the folder that comes with them.
const (
	childTask = "CHECKPOINT_TEST_TASK"
	childDir  = "CHECKPOINT_TEST_DIR"
)

func TestMain(m *testing.M) {
	dir := os.Getenv(childDir)
	switch os.Getenv(childTask) {
	case "":
		os.Exit(m.Run())
	case "scenario":
		report(scenario(Store{Dir: dir, Keep: 1}))
	case "announced":
		report(announced(Store{Dir: dir, Keep: 1}))
	case "save":
		report((Store{Dir: dir}).Save(2, state(strings.Repeat("large ", 100)), nil))
	}
}

func report(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child re-executes the test binary for a task.
func child(task, dir string, environment ...string) *exec.Cmd {
	command := exec.Command(os.Args[0])
	command.Env = append(append(os.Environ(), childTask+"="+task, childDir+"="+dir), environment...)
	return command
}

// scenario passes all points of the save sequence: plain saves, a new best, pruning and a replaced step.
func scenario(s Store) error {
	if err := s.Save(1, state("1"), nil); err != nil {
		return err
	}
	if err := s.MarkBest(1); err != nil {
		return err
	}
	if err := s.Save(2, state("2"), nil); err != nil {
		return err
	}
	if err := s.Save(3, state("3"), nil); err != nil { // removes step 2
		return err
	}
	return s.Save(3, state("4"), nil) // the same step once more
}

// TestKilledAnywhere kills a process at every point that the scenario passes and
// proves that the newest complete checkpoint is found, whole, and that work goes on from there.
func TestKilledAnywhere(t *testing.T) {
	points := watch(t, func() {
		if err := scenario(Store{Dir: t.TempDir(), Keep: 1}); err != nil {
			t.Fatal(err)
		}
	})
	if len(points) < 60 {
		t.Fatalf("the scenario passes only %d points", len(points))
	}
	times := map[string]int{}
	generation, best := 0, false
	for _, point := range points {
		times[point]++
		switch point {
		case "renamed":
			generation++
		case "BEST-renamed":
			best = true
		}
		name, generation, best := fmt.Sprintf("%s:%d", point, times[point]), generation, best
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Store{Dir: filepath.Join(fixtures.InMemory(t), "checkpoints"), Keep: 1}
			output, err := child("scenario", s.Dir, "APERTURE_FAILPOINT="+name).CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the process was not killed: %v\n%s", err, output)
			}
			checkSurvivor(t, s, generation, best)
			save(t, s, 9, "after")
			if found, _, err := s.Latest(); err != nil || found.Step != 9 {
				t.Fatal(found, err)
			}
		})
	}
}

// checkSurvivor looks at a store after a kill, first as a reader finds it, then as the lock's holder does.
func checkSurvivor(t *testing.T, s Store, generation int, best bool) {
	t.Helper()
	if _, _, err := s.Latest(); err != nil && !errors.Is(err, ErrNone) {
		t.Fatal(err)
	}
	if err := s.Recover(); err != nil {
		t.Fatal(err)
	}
	for _, name := range names(t, s.Dir) {
		if strings.HasSuffix(name, tempSuffix) {
			t.Errorf("%s is still there", name)
		}
	}
	found, warnings, err := s.Latest()
	if generation == 0 {
		if !errors.Is(err, ErrNone) {
			t.Fatalf("before anything was saved: %v, %v", found, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf(`{"generation": "%d"}`, generation); read(t, found, "state.json") != want {
		t.Errorf("the newest state is %s, want %s", read(t, found, "state.json"), want)
	}
	for _, warning := range warnings {
		if warning.Name != latestName {
			t.Errorf("a kill damaged %s", warning)
		}
	}
	if best {
		if found, _, err := s.Best(); err != nil || found.Step != 1 {
			t.Errorf("the best is %v, %v", found, err)
		}
	}
}
