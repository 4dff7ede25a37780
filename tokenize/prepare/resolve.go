package prepare

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// task is a job with the files that it reads.
type task struct {
	job   *job
	parts [][]found
}

func (t task) inputs() (inputs []Input) {
	for _, part := range t.parts {
		for _, at := range part {
			inputs = append(inputs, Input{at.source, at.path})
		}
	}
	return inputs
}

// resolve finds the files of all jobs. What is missing is reported in one sentence.
func (f *folder) resolve(name string, jobs []*job) (tasks []task, err error) {
	var lacking []*missing
	for _, j := range jobs {
		t := task{job: j}
		whole := true
		for _, part := range j.parts {
			var sides []found
			for _, m := range part {
				at, err := f.find(m)
				if missed := new(missing); errors.As(err, &missed) {
					whole = false
					if !j.optional {
						lacking = append(lacking, missed)
					}
				} else if err != nil {
					return nil, err
				}
				sides = append(sides, at)
			}
			t.parts = append(t.parts, sides)
		}
		if whole {
			tasks = append(tasks, t)
		}
	}
	if len(lacking) > 0 {
		return nil, fmt.Errorf("%s lacks files of %s: %s", f.root, name, tell(lacking, membersOf(jobs)))
	}
	return tasks, nil
}

// missing is a member that was not found.
type missing struct {
	member member
	looked []string // archives that should hold it and do not
}

func (m *missing) Error() string { return m.member.names[0] + " is missing" }

// alone reports whether a member is offered as a file of its own.
func (m member) alone() bool { return strings.TrimSuffix(m.downloads[0].name, ".gz") == m.names[0] }

// beside reports whether two members come together, in one download or as files of one page.
func (m member) beside(other member) bool {
	d, e := m.downloads[0], other.downloads[0]
	return d.page == e.page && (d.name == e.name || m.alone() && other.alone())
}

// tell says what is missing: an absent download by its name, files that one lacks by theirs.
func tell(lacking []*missing, all []member) string {
	var phrases []string
	for len(lacking) > 0 {
		first, d := lacking[0], lacking[0].member.downloads[0]
		var names, downloads []string
		lacking = slices.DeleteFunc(lacking, func(m *missing) bool {
			if !m.member.beside(first.member) || !slices.Equal(m.looked, first.looked) {
				return false
			}
			names, downloads = append(names, m.member.names[0]), append(downloads, m.member.downloads[0].name)
			return true
		})
		all := slices.DeleteFunc(slices.Clone(all), func(m member) bool { return !m.beside(first.member) })
		phrase := ""
		switch {
		case len(first.looked) > 0:
			phrase = fmt.Sprintf("%s (%s: not held by %s)", strings.Join(names, ", "), d.page,
				strings.Join(first.looked, ", "))
		case first.member.alone():
			phrase = fmt.Sprintf("%s (%s)", strings.Join(downloads, ", "), d.page)
		case len(names) == len(all):
			phrase = fmt.Sprintf("%s (%s)", d.name, d.page)
		default:
			phrase = fmt.Sprintf("%s of %s (%s)", strings.Join(names, ", "), d.name, d.page)
		}
		phrases = append(phrases, phrase)
	}
	return strings.Join(phrases, "; ")
}

func membersOf(jobs []*job) (all []member) {
	for _, j := range jobs {
		for _, part := range j.parts {
			all = append(all, part...)
		}
	}
	return all
}

// lookIntoAll looks into all archives that may be of use, several at once.
func (f *folder) lookIntoAll(ctx context.Context, jobs []*job, report func(string, int64, int64)) error {
	members := membersOf(jobs)
	wanted := func(path string) bool {
		return slices.ContainsFunc(members, func(m member) bool { return m.named(path) })
	}
	offers := func(path string) bool {
		return slices.ContainsFunc(members, func(m member) bool { return m.offered(path) })
	}
	m := &meter{phase: "looking into archives", report: report}
	var archives []source
	for _, s := range f.candidates(members) {
		if _, isArchive := stem(s.Path); isArchive {
			archives = append(archives, s)
			m.total += s.Size
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	var mu sync.Mutex
	next := make(chan source)
	for range min(runtime.GOMAXPROCS(0), len(archives)) {
		group.Go(func() {
			for s := range next {
				err := corpus.Guard(func() error {
					a, err := f.look(ctx, s, wanted, offers, m)
					mu.Lock()
					defer mu.Unlock()
					f.archives[s.Path] = a
					return err
				})
				if err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, s := range archives {
		next <- s
	}
	close(next)
	group.Wait()
	return context.Cause(ctx)
}

func (f *folder) close() {
	for _, a := range f.archives {
		if a != nil && a.zip != nil {
			a.zip.Close()
		}
	}
}
