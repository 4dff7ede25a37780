package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Rows without a peer: all of them come from one text, which is made once, and they have no ratio.
func TestLoads(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	b := fake(t, context.Background(), "")
	b.LoadPairs = 3000
	for _, r := range loadRows()[2:] {
		got, err := b.measure(r)
		if err != nil || got.TimeRatio != nil || got.Peer != nil || got.Ours <= 0 ||
			!strings.HasPrefix(got.Config, "3000 pairs") || got.Unit != r.unit {
			t.Errorf("%s gives %+v, %v", r.name, got, err)
		}
	}
	left, _ := os.ReadDir(filepath.Join(cache, "aperture", "bench"))
	if len(left) != 1 || left[0].Name() != "load-3000" {
		t.Errorf("the cache holds %v", left)
	}
	var table strings.Builder
	const line = "load/heap  -           -    -    -             200   -     MB    " +
		"-                 -      -     -           3000 pairs\n"
	err := printTable(&table, []result{{Name: "load/heap", Ours: 200, Unit: "MB", Config: "3000 pairs"}})
	if err != nil || !strings.Contains(table.String(), line) {
		t.Errorf("%v; the table is\n%s", err, table.String())
	}
}

// What hinders one row of load hinders all that are measured together, and is tried once.
func TestLoadsFail(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", file)
	b := fake(t, t.Context(), "")
	var log strings.Builder
	b.log, b.LoadPairs = &log, 10
	for _, r := range loadRows()[2:] {
		if got, err := b.measure(r); !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("%s gives %+v, %v", r.name, got, err)
		}
	}
	if n := strings.Count(log.String(), "making or finding"); n != 1 {
		t.Errorf("the text is looked for %d times", n)
	}
}

// The text depends on its size alone, and a larger one begins as a smaller one does.
func TestLoadText(t *testing.T) {
	read := func(pairs int) (all [2][]string) {
		folder := t.TempDir()
		if err := writeLoadText(folder, pairs); err != nil {
			t.Fatal(err)
		}
		for i, language := range []string{loadSource, loadTarget} {
			data, err := os.ReadFile(filepath.Join(folder, "train."+language))
			if err != nil {
				t.Fatal(err)
			}
			all[i] = strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
		}
		return all
	}
	large, small := read(5000), read(200)
	for i := range large {
		if len(large[i]) != 5000 {
			t.Errorf("%d lines", len(large[i]))
		}
		if diff := cmp.Diff(small[i], large[i][:200]); diff != "" {
			t.Error(diff)
		}
		words, kinds := 0, map[string]bool{}
		for _, line := range large[i] {
			for _, word := range strings.Fields(line) {
				words++
				kinds[word] = true
			}
		}
		if mean := float64(words) / 5000; mean < 11 || mean > 14 {
			t.Errorf("%.1f words a line", mean)
		}
		// Real text of this size, Multi30k or news, has between one new word in ten and one in four.
		if share := float64(len(kinds)) / float64(words); share < 0.1 || share > 0.3 {
			t.Errorf("%d different words of %d", len(kinds), words)
		}
	}
	names := map[string]bool{}
	for rank := range 100_000 {
		names[string(appendWord(nil, 1, rank))] = true
	}
	if len(names) < 99_000 {
		t.Errorf("100000 ranks have %d words", len(names))
	}
}

// What is raced with tools that are not installed here is the same text on both sides.
func TestEncodingRows(t *testing.T) {
	b := fake(t, context.Background(), "")
	for _, program := range []string{"encode_text.py", "bpe_tokenizers.py"} {
		b.replace(t, program, slow)
	}
	b.Pairs = 1
	for _, r := range loadRows()[:2] {
		got, err := b.measure(r)
		if err != nil || got.TimeRatio == nil || got.Peer == nil || *got.Peer <= 0 ||
			!strings.Contains(got.Config, "one thread") {
			t.Errorf("%s gives %+v, %v", r.name, got, err)
		}
	}
}
