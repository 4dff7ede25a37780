// How long an OpenMP thread spins while it waits for its next piece of work, before it sleeps: some tens of microseconds,
// which bridges the gaps inside a step. libgomp's own default is some milliseconds, and ruinous on a machine that others use
// too: a thread that lost its processor is then waited for by threads that burn theirs.
//
// libgomp reads the setting in its own constructor, which runs before those of libraries that need it. So this file is a
// library of its own, libaperture_waiting.so, that needs neither libgomp nor libtorch and stands behind libgomp among what
// libaperture.so needs: the system's loader runs constructors from the last library to the first, each after what it needs.
// torch/waiting_test.go holds that libgomp sees the setting. A user's own GOMP_SPINCOUNT or OMP_WAIT_POLICY stays as it is.
#include <cstdlib>

__attribute__((constructor)) static void sleep_soon() {
  if (!getenv("OMP_WAIT_POLICY")) setenv("GOMP_SPINCOUNT", "2000", 0);
}
