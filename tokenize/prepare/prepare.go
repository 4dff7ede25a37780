package prepare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/tokenize"
)

// Options say which corpus is made of what.
type Options struct {
	Corpus   string
	From, To string            // folders
	Settings map[string]string // of the corpus: Corpora tells which it has

	// Progress, unless nil, gets the bytes that a phase has read, from several goroutines.
	Progress func(phase string, done, total int64)
}

// job is a text to be made: its parts are joined, judged line by line, and split into sets.
type job struct {
	name      string
	sides     []string // endings of the files, a side each: ".de", ".en"
	sets      []string // names of the files before their endings
	parts     [][]member
	read      shape
	edit      func(line string) string                           // nil leaves lines as they are
	split     func(language string) (func(string) string, error) // puts spaces between tokens; nil: they are there
	clean     *tokenize.CleanOptions                             // limits on tokens; nil keeps all lines
	exact     bool                                               // the published bytes, a missing last "\n" included
	every     int                                                // each nth pair that stays goes to the second set
	nonEmpty  string                                             // set without pairs of which a side is empty
	types     bool                                               // count different tokens
	perLine   int                                                // tokens beside those of the line: <eos>
	optional  bool                                               // left out if its files are missing
	published map[string]*Published                              // by file
}

// parallel is a job of one set in several languages.
func parallel(name string, languages []string, read shape, parts ...[]member) *job {
	j := &job{name: name, sets: []string{name}, parts: parts, read: read, published: map[string]*Published{}}
	for _, language := range languages {
		j.sides = append(j.sides, "."+language)
	}
	return j
}

// expect notes the published number of lines of the first sets.
func (j *job) expect(about bool, lines ...int) *job {
	for set, n := range lines {
		for _, side := range j.sides {
			j.published[j.sets[set]+side] = &Published{Lines: n, About: about}
		}
	}
	return j
}

// names are the files that a job makes, set by set.
func (j *job) names() (names []string) {
	for _, set := range j.sets {
		for _, side := range j.sides {
			names = append(names, set+side)
		}
	}
	return names
}

// meter adds up what was read.
type meter struct {
	phase  string
	done   atomic.Int64
	total  int64
	report func(phase string, done, total int64)
}

func (m *meter) add(n int64) {
	if done := m.done.Add(n); m.report != nil && n > 0 {
		m.report(m.phase, done, m.total)
	}
}

// Run makes the texts of a corpus, but for those there and whole, and returns the counts of all. A text is made whole
// or not at all; CountsFile is written after each.
func Run(ctx context.Context, o Options) (*Counts, error) {
	counts, err := run(ctx, o)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return counts, err
}

func run(ctx context.Context, o Options) (*Counts, error) {
	recipe, settings, err := choose(o.Corpus, o.Settings)
	if err != nil {
		return nil, err
	}
	if err := files.NoFolder(o.From); err != nil {
		return nil, fmt.Errorf("%w: -from names the folder that holds the archives", err)
	}
	if info, err := os.Stat(o.To); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a file: -to names the folder to write to", o.To)
	}
	if same(o.From, o.To) {
		return nil, fmt.Errorf("%s would be read and written at once: name another folder with -to", o.To)
	}
	from, err := openFolder(o.From, o.To)
	if err != nil {
		return nil, err
	}
	jobs := recipe.jobs(settings)
	counts := &Counts{
		Format: format, Corpus: o.Corpus, Settings: settings, Tokens: recipe.tokens,
		Sources: from.candidates(membersOf(jobs)),
	}
	before, err := readCounts(o.To, counts)
	if err != nil {
		return nil, err
	}
	broken := func(t Text) bool { return !t.whole(o.To) }
	if before.Complete && slices.Equal(before.Sources, counts.Sources) && !slices.ContainsFunc(before.Texts, broken) {
		for i := range before.Texts {
			before.Texts[i].Again = true
		}
		return before, nil
	}
	defer from.close()
	if err := from.lookIntoAll(ctx, jobs, o.Progress); err != nil {
		return nil, err
	}
	tasks, err := from.resolve(o.Corpus, jobs)
	if err != nil {
		return nil, err
	}
	if err := files.MakeFolder(o.To); err != nil {
		return nil, fmt.Errorf("the folder of -to: %w", err)
	}
	lock, err := files.Lock(o.To)
	if busy := new(files.InUse); errors.As(err, &busy) {
		return nil, fmt.Errorf("%s is in use by another process: wait for it to end, or name another folder with -to",
			o.To)
	} else if err != nil {
		return nil, err
	}
	defer lock.Close()
	return counts, makeAll(ctx, tasks, counts, o)
}

// makeAll makes the texts that are not there yet.
func makeAll(ctx context.Context, tasks []task, counts *Counts, o Options) error {
	before, err := readCounts(o.To, counts)
	if err != nil {
		return err
	}
	m := &meter{phase: "writing " + o.Corpus, report: o.Progress}
	var names []string
	var todo []task
	for _, t := range tasks {
		inputs := t.inputs()
		if old := before.text(t.job.name); old != nil && slices.Equal(old.Inputs, inputs) && old.whole(o.To) {
			old.Again = true
			counts.Texts = append(counts.Texts, *old)
			continue
		}
		todo = append(todo, t)
		names = append(names, t.job.names()...)
		for _, part := range t.parts {
			for _, at := range part {
				m.total += at.cost()
			}
		}
	}
	if before.Format == 0 { // nothing tells that they are ours
		for _, name := range names {
			if _, err := os.Lstat(filepath.Join(o.To, name)); err == nil {
				return fmt.Errorf("%s is there already, and no %s tells that it was made here: move it away, or name "+
					"another folder with -to", filepath.Join(o.To, name), CountsFile)
			}
		}
	}
	removeLeft(o.To, names)
	for {
		if counts.Complete = len(todo) == 0; counts.Complete {
			order := func(t Text) int {
				return slices.IndexFunc(tasks, func(task task) bool { return task.job.name == t.Name })
			}
			slices.SortFunc(counts.Texts, func(a, b Text) int { return order(a) - order(b) })
		}
		// Written before the first text too: the folder is then known as ours, wherever a kill may fall.
		if err := counts.write(o.To); err != nil || counts.Complete {
			return err
		}
		text, err := todo[0].job.make(ctx, todo[0].parts, o.To, m)
		if err != nil {
			return err
		}
		text.Inputs = todo[0].inputs()
		counts.Texts = append(counts.Texts, *text)
		todo = todo[1:]
	}
}

// make makes the files of one text.
func (j *job) make(ctx context.Context, parts [][]found, to string, m *meter) (*Text, error) {
	var outputs []*output
	defer func() {
		for _, out := range outputs {
			out.to.Discard()
		}
	}()
	for _, name := range j.names() {
		out, err := newOutput(to, name)
		if err != nil {
			return nil, err
		}
		outputs = append(outputs, out)
	}
	kept, dropped := 0, map[string]int{}
	write := func(c *chunk) error {
		for i, reason := range c.reasons {
			set := 0
			if reason == tokenize.Kept {
				if kept++; j.every > 0 && kept%j.every == 0 {
					set = 1
				}
				empty := func(tokens []int) bool { return tokens[i] == 0 }
				if j.sets[set] == j.nonEmpty && slices.ContainsFunc(c.tokens, empty) {
					reason = tokenize.Empty
				}
			}
			if reason != tokenize.Kept {
				dropped[reasons[reason]]++
				continue
			}
			for side, out := range outputs[set*len(j.sides) : (set+1)*len(j.sides)] {
				ended := !(j.exact && c.ends && c.open[side] && i+1 == len(c.reasons))
				if err := out.line(c.lines[side][i], c.tokens[side][i]+j.perLine, ended); err != nil {
					return err
				}
			}
		}
		return nil
	}
	f := &flow{job: j, meter: m, parts: parts}
	types, err := f.run(ctx, write)
	if err != nil {
		return nil, err
	}
	text := &Text{Name: j.name}
	if len(dropped) > 0 {
		text.Dropped = dropped
	}
	for i, out := range outputs {
		if err := out.commit(); err != nil {
			return nil, err
		}
		if j.types { // of one set
			out.count.Types = len(types[i]) + j.perLine
		}
		out.count.compare(j.published[out.count.Name])
		text.Files = append(text.Files, out.count)
	}
	return text, nil
}

// reasons say in words why pairs were dropped.
var reasons = map[tokenize.CleanReason]string{
	tokenize.Empty:    "a side is empty",
	tokenize.TooLong:  "a side has too many tokens",
	tokenize.BadRatio: "the lengths differ too much",
	tokenize.LongWord: "a word is too long",
}
