package experiment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/runs/internal/record"
)

// TestResumeElsewhere: a note says that the device or the number of processes is another one.
func TestResumeElsewhere(t *testing.T) {
	folder := t.TempDir()
	mustStart(t, folder, "-threads=3").Close()
	var env record.Env
	if err := files.ReadJSON(filepath.Join(folder, EnvFile), &env); err != nil {
		t.Fatal(err)
	}
	env.Device = "cuda:1"
	if err := files.WriteJSON(filepath.Join(folder, EnvFile), env); err != nil {
		t.Fatal(err)
	}
	s, err := Parse(testSpec(t), []string{"-resume", "-out", folder, "-processes=2"})
	if err != nil {
		t.Fatal(err)
	}
	const want = "train.threads stays 3 in each process, as with train.processes = 1, and the number of processes is 2 now"
	if !strings.Contains(strings.Join(s.Notes, "\n"), want) {
		t.Errorf("another number of processes is resumed with the notes %q", s.Notes)
	}
	for range 2 { // the second time it is what it was
		mustStart(t, folder, "-resume").Close()
		log, err := os.ReadFile(filepath.Join(folder, LogFile))
		if err != nil || strings.Count(string(log), "the run was on cuda:1, and goes on on cpu") != 1 {
			t.Errorf("another device is not told once: %q, %v", log, err)
		}
	}
}
