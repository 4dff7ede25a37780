//go:build !linux

package main

import (
	"runtime"
	"syscall"
)

// Training needs Linux: elsewhere a sweep is looked at, and its runs are started as any process.

func apart() *syscall.SysProcAttr { return nil }

func setAffinity([]int) {}

// processors are those of the machine.
func processors() (cpus []int) {
	for c := range runtime.NumCPU() {
		cpus = append(cpus, c)
	}
	return cpus
}
