//go:build !linux

package main

import "runtime"

// setAffinity does nothing: only Linux is asked to give a run processors of its own.
func setAffinity([]int) {}

// processors are those of the machine.
func processors() (cpus []int) {
	for c := range runtime.NumCPU() {
		cpus = append(cpus, c)
	}
	return cpus
}
