package train

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

var kills = flag.Int("kills", 0, "have TestRandomKills kill at this many random `moments`")

// tinySearch is a sweep of two trials of each of two methods, in a fraction of a minute.
const tinySearch = `command = %q
args = ["-config=%s", "-data=%s", "-set=train.steps=12", "-set=decode.validation_beam=0"]
methods = ["mle", "cosreg"]
search = "random"
trials = 2
seeds = 2
jobs = 2
[keys]
train.learning_rate = {log = [0.001, 0.01]}
`

// killed is a program that is killed at random moments.
type killed struct {
	share  int                                    // of all kills, in hundredths
	begin  func(out string, again bool) *exec.Cmd // a process that writes to out, or goes on there
	begun  func(out string) bool                  // whether a process that is killed now can go on
	victim func(pid int, r *rand.Rand)            // who is killed; nil for all processes
	same   func(t *testing.T, whole, out string)  // compares what two runs have left
}

// TestRandomKills kills programs at random moments from their start on, and begins them again until they are done. What
// they leave is what an undisturbed process leaves, weights to the bit.
func TestRandomKills(t *testing.T) {
	if *kills == 0 {
		t.Skip("-kills says how often to kill: programs that train take a second or two for each time")
	}
	folder := workplace(t)
	build := exec.Command("go", "build", "-o", folder, "../../prepare", "../../sweep")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	exists := func(name string) func(out string) bool {
		return func(out string) bool {
			_, err := os.Stat(filepath.Join(folder, out, name))
			return err == nil
		}
	}
	trained := func(settings ...string) func(out string, again bool) *exec.Cmd {
		return func(out string, again bool) *exec.Cmd {
			if again {
				return process(folder, append(settings, "-out="+out, "-resume")...)
			}
			return process(folder, append(settings, "-out="+out)...)
		}
	}
	training := []string{"-steps=60", "-set=train.validate_every=4", "-set=decode.validation_beam=0",
		"-set=train.average_last=3", "-set=train.ema_decay=0.9"}
	from := filepath.Join(folder, "from")
	fixtures.Published(t, from, "iwslt14", 3000, 200)
	search := filepath.Join(folder, "search.toml")
	write(t, search, fmt.Sprintf(tinySearch, binary, filepath.Join(folder, "tiny.toml"),
		filepath.Join(folder, "corpus")))
	for name, k := range map[string]killed{
		"training": {share: 50, begin: trained(append(training, "-method=spectrum")...), begun: exists("config.toml"),
			same: func(t *testing.T, whole, out string) { same(t, folder, whole, out) }},
		"two processes": {share: 25, begin: trained(append(training, "-processes=2")...), begun: exists("config.toml"),
			victim: oneOf, same: func(t *testing.T, whole, out string) { same(t, folder, whole, out) }},
		"prepare": {share: 20, begin: func(out string, _ bool) *exec.Cmd {
			c := exec.Command(filepath.Join(folder, "prepare"), "iwslt14", "-from="+from, "-to="+out)
			c.Dir = folder
			return c
		}, begun: exists("."), same: func(t *testing.T, whole, out string) {
			if diff := cmp.Diff(fixtures.Contents(t, filepath.Join(folder, whole)),
				fixtures.Contents(t, filepath.Join(folder, out))); diff != "" {
				t.Errorf("%s differs: %s", out, diff)
			}
		}},
		"sweep": {share: 5, begin: func(out string, again bool) *exec.Cmd {
			c := exec.Command(filepath.Join(folder, "sweep"), search, "-out="+out)
			if again {
				c.Args = append(c.Args, "-resume")
			}
			c.Dir = folder
			return c
		}, begun: exists("sweep.toml"), same: func(t *testing.T, whole, out string) {
			runs, _ := filepath.Glob(filepath.Join(folder, whole, "*", "*", "results.json"))
			if len(runs) != 8 {
				t.Errorf("%d runs in the undisturbed sweep, want 8", len(runs))
			}
			for _, path := range runs {
				name, _ := filepath.Rel(filepath.Join(folder, whole), filepath.Dir(path))
				sameTensors(t, folder, filepath.Join(whole, name), filepath.Join(out, name))
			}
		}},
	} {
		t.Run(name, func(t *testing.T) { k.run(t, folder, *kills*k.share/100) })
	}
}

// run kills the program at a number of moments, in the rounds that it takes, each of which is compared at its end.
func (k killed) run(t *testing.T, folder string, moments int) {
	whole, random := strings.ReplaceAll(t.Name(), "/", "-")+"-whole", rand.New(rand.NewPCG(uint64(moments), 4))
	began := time.Now()
	if said, err := k.begin(whole, false).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	usual, count := time.Since(began), 0
	for round := 0; count < moments; round++ {
		out := fmt.Sprintf("%s-%d", strings.TrimSuffix(whole, "-whole"), round)
		for done := false; !done; {
			c := k.begin(out, k.begun(out))
			var said strings.Builder
			c.Stdout, c.Stderr = &said, &said
			c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			stop := time.AfterFunc(time.Duration(random.Float64()*float64(usual)), func() {
				switch {
				case count == moments: // the last round ends undisturbed
				case k.victim != nil:
					k.victim(c.Process.Pid, random)
				default:
					syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
				}
			})
			c.Wait()
			stop.Stop()
			for deadline := time.Now().Add(time.Minute); syscall.Kill(-c.Process.Pid, 0) == nil; {
				if time.Sleep(10 * time.Millisecond); time.Now().After(deadline) {
					t.Fatalf("after %d kills others of its group are still there", count)
				}
			}
			switch code := c.ProcessState.ExitCode(); {
			case code == 0:
				done = true
			case code == -1 || k.victim != nil && strings.Contains(said.String(), "aperture: rank "):
				count++
			default:
				t.Fatalf("after %d kills it ends with %d:\n%s", count, code, &said)
			}
		}
		k.same(t, whole, out)
		if t.Failed() {
			t.Fatalf("after %d kills", count)
		}
		t.Logf("%d kills, round %d", count, round)
		os.RemoveAll(filepath.Join(folder, out))
	}
}

// oneOf kills the process that started others, one of those, or all.
func oneOf(pid int, r *rand.Rand) {
	list, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	victims := []int{pid, -pid}
	for _, path := range list {
		text, _ := os.ReadFile(path)
		for _, child := range strings.Fields(string(text)) {
			n := 0
			fmt.Sscan(child, &n)
			victims = append(victims, n)
		}
	}
	syscall.Kill(victims[r.IntN(len(victims))], syscall.SIGKILL)
}
