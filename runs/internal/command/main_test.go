package command

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// TestMain lets hangups reach the tests also where they run under nohup, which would leave them waiting.
func TestMain(m *testing.M) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	os.Exit(m.Run())
}
