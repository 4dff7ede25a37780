package corpus

import (
	"fmt"
	"runtime/debug"
	"unsafe"
)

// unusable is what a Store panics with if its file changed; reading returns the error within.
type unusable struct{ error }

// reading runs f, which reads pairs, and returns its error, or that a mapped file was cut short meanwhile: a read
// behind the last page faults, which would end the process. Within the file's last page such a read gives zeros, so
// that the size is checked again after f.
func reading(pairs Pairs, f func() error) (err error) {
	s := storeOf(pairs)
	if s == nil || s.mapped == nil {
		return f()
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // of this goroutine
	defer func() {
		switch problem := recover().(type) {
		case nil:
			if info, failed := s.file.Stat(); failed != nil || info.Size() != int64(len(s.mapped)) {
				err = s.changed()
			}
		case *unusable:
			err = problem
		case interface{ Addr() uintptr }: // of the Go runtime, for faults alone
			if at := uintptr(unsafe.Pointer(unsafe.SliceData(s.mapped))); problem.Addr()-at >= uintptr(len(s.mapped)) {
				panic(problem)
			}
			err = s.changed()
		default:
			panic(problem)
		}
	}()
	return f()
}

// storeOf is the store that pairs are read from, nil for others.
func storeOf(pairs Pairs) *Store {
	switch p := pairs.(type) {
	case *Store:
		return p
	case selection:
		return storeOf(p.Pairs)
	}
	return nil
}

func (s *Store) changed() *unusable {
	return &unusable{fmt.Errorf("%s was cut short or changed while it was in use: let nothing write to it, and start "+
		"again; what is damaged is then made anew", s.file.Name())}
}
