package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
)

// origin says which commits trained the runs, on which machines, and which texts they read.
func (c *comparison) origin() string {
	commits, machines, texts := map[string]int{}, map[string]int{}, map[string]bool{}
	for _, r := range c.rows {
		for _, t := range r.runs {
			commits[files.Shown(fmt.Sprintf("%.12s", cmp.Or(string(t.results.Code.Commit), "unknown")))]++
			machines[files.Shown(cmp.Or(t.machine, "an unknown machine"))]++
			for file, sum := range t.results.Data.SHA256 {
				texts[files.Shown(fmt.Sprintf("%s %.8s", file, sum))] = true
			}
		}
	}
	counted := func(of map[string]int) string {
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(of)) {
			runs := "runs"
			if of[name] == 1 {
				runs = "run"
			}
			parts = append(parts, fmt.Sprintf("%s (%d %s)", name, of[name], runs))
		}
		return strings.Join(parts, "; ")
	}
	said := fmt.Sprintf("Trained by commit %s, on %s.", counted(commits), counted(machines))
	if len(texts) > 0 {
		said += fmt.Sprintf(" Texts, by the first digits of their SHA-256: %s.",
			strings.Join(slices.Sorted(maps.Keys(texts)), ", "))
	}
	return said
}

// uncommitted says which runs were trained by code that no commit holds, and which of its files were changed; empty for
// none.
func (c *comparison) uncommitted() string {
	var rows, changed []string
	for _, r := range c.rows {
		var seeds []int64
		for _, t := range r.runs {
			if t.results.Code.Dirty != nil && *t.results.Code.Dirty {
				seeds = append(seeds, t.results.Seed)
				changed = append(changed, t.changed...)
			}
		}
		if seeds != nil {
			rows = append(rows, fmt.Sprintf("%s (seed %s)", r.name, list(seeds)))
		}
	}
	if rows == nil {
		return ""
	}
	slices.Sort(changed)
	in := ""
	if changed = slices.Compact(changed); len(changed) > 0 {
		in = " in " + strings.Join(changed, ", ")
	}
	return fmt.Sprintf("Code with uncommitted changes%s trained %s.", in, strings.Join(rows, ", "))
}
