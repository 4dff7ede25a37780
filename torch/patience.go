package torch

import (
	"os"
	"syscall"
)

// spinCount bounds how long an OpenMP thread spins while it waits for its next
// piece of work, before it sleeps: some tens of microseconds, which bridges the
// gaps inside a step. libgomp's own default is some milliseconds, and ruinous on
// a machine that others use too: a thread that lost its processor is then waited
// for by threads that burn theirs.
const spinCount = "2000"

// shortenWaiting starts the program anew, under the same process id, with that
// setting in its environment, the only place where libgomp looks for it, and it
// looks before any of our code runs. A user's own GOMP_SPINCOUNT or
// OMP_WAIT_POLICY is left alone.
func shortenWaiting() {
	for _, name := range []string{"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} {
		if _, set := os.LookupEnv(name); set {
			return
		}
	}
	self, err := os.Executable()
	if err != nil {
		return
	}
	// Where it fails, the program goes on with the long wait.
	_ = syscall.Exec(self, os.Args, append(os.Environ(), "GOMP_SPINCOUNT="+spinCount))
}
