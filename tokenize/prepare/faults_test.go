package prepare

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// The folder from which a re-executed test binary prepares Multi30k instead of testing, on its first thread.
const faultsFrom, faultsTo = "PREPARE_TEST_FROM", "PREPARE_TEST_TO"

func init() {
	if from := os.Getenv(faultsFrom); from != "" {
		fixtures.BeginFaults()
		if _, err := Run(context.Background(), Options{Corpus: "multi30k", From: from, To: os.Getenv(faultsTo)}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// TestFaults lets every call by which texts are written fail once: the folder holds whole texts alone, and a second run
// completes them.
func TestFaults(t *testing.T) {
	from := t.TempDir()
	want := map[string]string{}
	for _, name := range []string{"train", "val", "test_2016_flickr"} {
		for side, line := range map[string]string{".en": "one two\n", ".de": "eins zwei drei\n"} {
			want[name+side] = strings.Repeat(line, 40)
			fixtures.Put(t, from, name+side, want[name+side])
		}
	}
	n := fixtures.Faults(t, func(folder string) (*exec.Cmd, func(fixtures.Fault, string, error)) {
		to := filepath.Join(folder, "to")
		program := exec.Command(os.Args[0])
		program.Env = append(os.Environ(), faultsFrom+"="+from, faultsTo+"="+to)
		return program, func(f fixtures.Fault, output string, err error) {
			if err != nil && f.Error != "SIGKILL" {
				fixtures.Sentence(t, strings.TrimSuffix(output, "\n"))
			}
			entries, _ := os.ReadDir(to)
			for _, entry := range entries {
				text, whole := want[entry.Name()]
				if whole && fixtures.Read(t, to, entry.Name()) != text {
					t.Errorf("%v: %s is no whole text", f, entry.Name())
				}
				if !whole && entry.Name() != CountsFile && f.Error != "SIGKILL" && f.Call != "unlinkat" {
					t.Errorf("%v: %s was left", f, entry.Name())
				}
			}
			if err := again(from, to); err != nil {
				t.Fatalf("%v: a second run: %v", f, err)
			}
			for name, text := range want {
				if fixtures.Read(t, to, name) != text {
					t.Errorf("%v: %s is not the text", f, name)
				}
			}
			if entries, _ := os.ReadDir(to); len(entries) != len(want)+1 {
				t.Errorf("%v: the folder holds %v", f, entries)
			}
		}
	})
	t.Logf("%d faults", n)
	if n < 30 {
		t.Errorf("only %d faults were tried", n)
	}
}

func again(from, to string) error {
	_, err := Run(context.Background(), Options{Corpus: "multi30k", From: from, To: to})
	return err
}
