// Package experiment turns a command line into an experiment: its configuration, and the folder that records it.
package experiment
