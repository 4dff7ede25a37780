package main

import (
	"syscall"
	"unsafe"
)

// apart is how a run is started: a group of its own keeps Ctrl-C for the sweep, which passes it on once, and the run must not
// outlive a sweep that is killed.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// affinity is a set of processors as the kernel has it, up to 1024 of them.
type affinity [16]uint64

func setAffinity(cpus []int) {
	var mask affinity
	for _, c := range cpus {
		mask[c/64] |= 1 << (c % 64)
	}
	// Where that is not allowed the run shares processors with others, which costs time only.
	syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask)))
}

// processors are those that this process may use.
func processors() (cpus []int) {
	var mask affinity
	if _, _, failure := syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask))); failure != 0 {
		return nil
	}
	for c := range len(mask) * 64 {
		if mask[c/64]&(1<<(c%64)) != 0 {
			cpus = append(cpus, c)
		}
	}
	return cpus
}
