//go:build !unix

package main

import "syscall"

// apart is how a run is started: as any process, on systems that have no groups of processes.
func apart() *syscall.SysProcAttr { return nil }
