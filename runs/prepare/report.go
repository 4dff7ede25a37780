package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/aperture-ml/aperture/tokenize/prepare"
)

// bar shows how far each phase is.
type bar struct {
	mu     sync.Mutex
	screen *os.File
	phase  string
	shown  *progressbar.ProgressBar
}

func (b *bar) move(phase string, done, total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shown == nil || b.phase != phase {
		if b.shown != nil {
			b.shown.Clear()
		}
		b.phase = phase
		b.shown = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(b.screen),
			progressbar.OptionSetDescription(phase),
			progressbar.OptionSetWidth(24),
			progressbar.OptionShowBytes(true),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionThrottle(200*time.Millisecond),
			progressbar.OptionClearOnFinish(),
			progressbar.OptionSetTheme(progressbar.ThemeASCII),
		)
	}
	b.shown.Set64(min(done, total))
}

func (b *bar) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shown != nil {
		b.shown.Clear()
	}
}

// print writes the counts as a table, with the published figures beside them, and says which differ.
func print(out io.Writer, counts *prepare.Counts, o prepare.Options) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "file\tlines\tpublished\ttokens\tpublished\ttypes\tpublished\tsha256\t")
	var differ []string
	again := 0
	for _, text := range counts.Texts {
		if text.Again {
			again++
		}
		for _, file := range text.Files {
			p := file.Published
			if p == nil {
				p = &prepare.Published{}
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", file.Name, number(file.Lines, false),
				number(p.Lines, p.About), number(file.Tokens, false), number(p.Tokens, p.About),
				number(file.Types, false), number(p.Types, p.About), file.SHA256[:16], verdict(file))
			if len(file.Differs) > 0 {
				differ = append(differ, file.Name)
			}
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "tokens are %s\n", counts.Tokens)
	for _, text := range counts.Texts {
		for _, reason := range slices.Sorted(maps.Keys(text.Dropped)) {
			fmt.Fprintf(out, "%s: %s pairs dropped, %s\n", text.Name, number(text.Dropped[reason], false), reason)
		}
	}
	if len(differ) > 0 {
		fmt.Fprintf(out, "not as published: %s\n", strings.Join(differ, ", "))
	}
	state := "written to"
	if again == len(counts.Texts) {
		state = "there already, whole and unchanged, in"
	}
	_, err := fmt.Fprintf(out, "%s is %s %s; %s there has these figures\n", counts.Corpus, state, o.To,
		prepare.CountsFile)
	return err
}

// verdict says how a file compares with what was published of it.
func verdict(f prepare.File) string {
	switch {
	case f.Published == nil:
		return ""
	case len(f.Differs) > 0:
		return "differs: " + strings.Join(f.Differs, ", ")
	}
	return "as published"
}

// number writes 29000 as 29,000; 0 is unknown.
func number(n int, about bool) string {
	if n == 0 {
		return "-"
	}
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if about {
		return "~" + digits
	}
	return digits
}
