package main

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// apart starts a run in a group of its own, which keeps Ctrl-C for the sweep, which passes it on once. The run does not
// outlive a sweep that is killed.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

func setAffinity(cpus []int) {
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	unix.SchedSetaffinity(0, &set)
}

// processors are those that this process may use.
func processors() (cpus []int) {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return nil
	}
	for c := 0; len(cpus) < set.Count(); c++ {
		if set.IsSet(c) {
			cpus = append(cpus, c)
		}
	}
	return cpus
}
