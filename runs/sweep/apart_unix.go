//go:build unix && !linux

package main

import "syscall"

// apart is how a run is started: a group of its own keeps Ctrl-C for the sweep, which passes it on once.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
