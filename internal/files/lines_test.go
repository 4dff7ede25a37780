package files

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// endless gives x for ever, and counts.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	e.read += len(p)
	return len(p), nil
}

// A line beyond the limit is refused once that is sure, and the lines round it are whole, wherever the buffer ends.
func TestLongLines(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	for _, limit := range []int{1, 9, 1<<16 - 1, 1 << 16, 1<<16 + 1, 200_000} {
		for _, more := range []int{1, 2, 1 << 16, 300_000} {
			whole := x(limit)
			text := "a\n" + whole + "\n" + x(limit+more) + "\n\n" + whole
			for _, in := range []io.Reader{strings.NewReader(text), iotest.HalfReader(strings.NewReader(text))} {
				r := NewLineReader(in, limit)
				for i, want := range []string{"a\n", whole + "\n", x(limit + 1), "\n", whole, ""} {
					line, err := r.Next()
					if string(line) != want || (i == 2) != errors.Is(err, ErrLongLine) || i != 2 && err != nil {
						t.Fatalf("limit %d, line %d of %d bytes more: %d bytes, %v; want %d", limit, i+1, more,
							len(line), err, len(want))
					}
				}
			}
		}
	}
	in := &endless{}
	if _, err := NewLineReader(in, MaxLine).Next(); !errors.Is(err, ErrLongLine) || in.read > MaxLine+1<<17 {
		t.Errorf("%v after %d bytes", err, in.read)
	}
	broken := errors.New("disk on fire")
	for _, text := range []string{"", "a", x(100)} {
		r := NewLineReader(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), 10)
		line, err := r.Next()
		if errors.Is(err, ErrLongLine) {
			line, err = r.Next()
		}
		if !errors.Is(err, broken) || len(line) > 0 {
			t.Errorf("%d bytes before the disk burns: %q, %v", len(text), line, err)
		}
	}
}
