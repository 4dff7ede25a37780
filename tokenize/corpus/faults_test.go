package corpus

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// The folder whose texts a re-executed test binary encodes instead of testing, on its first thread.
const faultsIn = "CORPUS_TEST_FOLDER"

func init() {
	if folder := os.Getenv(faultsIn); folder != "" {
		fixtures.BeginFaults()
		s, said, err := encodedIn(folder)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(s.Len(), said)
		os.Exit(0)
	}
}

func encodedIn(folder string) (*Store, string, error) {
	cache := StoreSettings{Store: filepath.Join(folder, "store")}.Cache()
	text, err := cache.OpenParallel(trainIn(folder), "-train")
	if err != nil {
		return nil, "", err
	}
	return cache.Encode(encoding(text, 100))
}

// TestFaults lets every call by which encoded text is kept fail once. The pairs are there all the same, in memory where
// they cannot be kept, and what lies in the store is whole or not taken.
func TestFaults(t *testing.T) {
	const lines = 60
	whole := t.TempDir()
	texts(t, whole, lines)
	good, _, err := encodedIn(whole)
	if err != nil {
		t.Fatal(err)
	}
	defer good.Close()
	want := listOf(good)
	n := fixtures.Faults(t, func(folder string) (*exec.Cmd, func(fixtures.Fault, string, error)) {
		texts(t, folder, lines)
		program := exec.Command(os.Args[0])
		program.Env = append(os.Environ(), faultsIn+"="+folder)
		return program, func(f fixtures.Fault, output string, err error) {
			switch {
			case err != nil && f.Error != "SIGKILL":
				fixtures.Sentence(t, strings.TrimSuffix(output, "\n"))
				if f.Call != "openat" { // by which the texts are read, too
					t.Errorf("%v: no fault of the disk that keeps encoded text should end a run: %s", f, output)
				}
			case err == nil && !strings.HasPrefix(output, fmt.Sprint(lines)) && f.Call != "write":
				t.Errorf("%v: %s", f, output)
			}
			if s, err := OpenStore(storeIn(folder)); err == nil {
				if got := listOf(s); !reflect.DeepEqual(got, want) {
					t.Errorf("%v: the store holds other pairs", f)
				}
				s.Close()
			} else if !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%v: what was kept is %v", f, err)
			}
			again, _, err := encodedIn(folder)
			if err != nil {
				t.Fatalf("%v: a second run: %v", f, err)
			}
			if got := listOf(again); !reflect.DeepEqual(got, want) {
				t.Errorf("%v: a second run has other pairs", f)
			}
			again.Close()
		}
	})
	t.Logf("%d faults", n)
	if n < 15 {
		t.Errorf("only %d faults were tried", n)
	}
}

// storeIn is the path of the encoded text of a folder; one that does not exist where there is none.
func storeIn(folder string) string {
	found, _ := filepath.Glob(filepath.Join(folder, "store", "*.pairs"))
	return append(found, filepath.Join(folder, "none.pairs"))[0]
}
