package request

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// TestPatterns: expressions are taken up to a size, with their repetitions written out.
func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		keep    any
		problem string
	}{
		{[]any{`\d+(\.\d+)?`, `[A-Z]{2,10}-\d{4}`, `(?i)https?://\S+`}, ""},
		{slices.Repeat([]any{`[A-Z][a-z]+`}, 1000), ""},
		{"(", "is no regular expression"},
		{".{0,2000}", "is no regular expression"}, // Go's own limit
		{strings.Repeat(".{0,1000}", 11), "too large together"},
		{[]any{".{0,1000}", "(x{9}y{9}){100}"}, ""},
		{[]any{".{0,1000}", "(x{9}y{9}){100}", "(x{9}y{9}){100}", "a{900}"}, "too large together"},
	} {
		found, err := Fields{"keep": c.keep}.Patterns("keep")
		if c.problem == "" && (err != nil || len(found.list) == 0) || c.problem != "" && (err == nil ||
			!strings.Contains(err.Error(), c.problem)) {
			t.Errorf("%.60q gives %v", fmt.Sprint(c.keep), err)
		}
	}
}

// patterns are those of a request.
func patterns(t *testing.T, keep ...any) *Patterns {
	t.Helper()
	p, err := Fields{"keep": keep}.Patterns("keep")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestMatches: the places are those that package regexp finds.
func TestMatches(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	pieces := []string{"a", "b", "é", ".", "[^€]", `\b`, `\B`, "^", "$", "(?m:^)", "(?m:$)", `\s`, "(?i:B)", "ab",
		"(a|b)", "()", "|", `\Q(.\E`, `\Q(`, `\(`, `\\`, "(?s).", "[(a-z]", `[](\](]`, "[^[:alpha:](]", `\w+`,
		"(?:a|(b))*?", "(?P<x>é)", "(?<y>a)", "(?i)"}
	suffixes := []string{"", "", "", "*", "+?", "?", "{2}", "{0,3}"}
	letters := []rune("aabbBé€( .]\\\n")
	for n := 0; n < 3000; {
		var expression, text strings.Builder
		for range 1 + random.IntN(5) {
			expression.WriteString(pieces[random.IntN(len(pieces))] + suffixes[random.IntN(len(suffixes))])
		}
		for range random.IntN(12) {
			text.WriteRune(letters[random.IntN(len(letters))])
		}
		by, err := regexp.Compile(expression.String())
		if err != nil {
			continue // as **
		}
		n++
		p := patterns(t, expression.String())
		if next := p.list[0].next; next != nil && next.NumSubexp() != 1 {
			t.Fatalf("%q became %q, which has groups", expression.String(), next)
		}
		var want [][2]int
		for _, place := range by.FindAllStringIndex(text.String(), -1) {
			if place[0] < place[1] {
				want = append(want, [2]int(place))
			}
		}
		got, err := p.In(t.Context(), text.String())
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("%q in %q: %v\n%s", expression.String(), text.String(), err, diff)
		}
	}
	got, err := patterns(t, "b+", "ab?", "b").In(t.Context(), "abba")
	if want := [][2]int{{0, 2}, {1, 3}, {2, 3}, {3, 4}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("of several: %v, %v", got, err)
	}
}

// TestOrdinaryPatterns: what people ask for is found in texts as they send them.
func TestOrdinaryPatterns(t *testing.T) {
	prose := strings.Repeat("The 3 Dogs of Ann read https://example.org/a/b at 12:30, and ran. ", 300)
	var terms, words []any
	for i := range 1000 {
		terms = append(terms, fmt.Sprintf("glossary term %d", i))
		words = append(words, fmt.Sprintf(`(?i)\bterm%d\b`, i))
	}
	for _, c := range []struct {
		keep []any
		text string
		want int
	}{
		{[]any{`\d+`}, strings.Repeat("1 ", 10_000), 10_000},
		{[]any{`\d+`, `https?://\S+`, `[A-Z]\w+`}, prose, 7 * 300},
		{[]any{`\{[^}]*\}`, `%[sd]`, `<[^>]+>`}, strings.Repeat("<b>{name} %s</b> ", 1000), 4000},
		{words[:100], strings.Repeat("a Term7 of few ", 333), 333},
		{words, prose[:7000], 0},
		{terms, prose + "glossary term 71", 1},
	} {
		got, err := patterns(t, c.keep...).In(t.Context(), c.text)
		if err != nil || len(got) != c.want {
			t.Errorf("%.40q in %.20q: %d, want %d: %v", c.keep, c.text, len(got), c.want, err)
		}
	}
}

// TestWork: expressions whose searches read a text over and over, or whose steps are all taken at each character, are
// refused before they take long. Without a bound the first takes hours.
func TestWork(t *testing.T) {
	const most = 6 * time.Second
	for _, c := range [][2]string{
		{strings.Repeat(".*", 4900) + "z|a", strings.Repeat("a", 20_000)},
		{"<[^>]*>|<", strings.Repeat("<", 20_000)},
		{strings.Repeat("(.)*", 3000) + "z|a", strings.Repeat("a", 300)},
	} {
		began := fixtures.ProcessorTime()
		_, err := patterns(t, c[0]).In(t.Context(), c[1])
		var invalid *Error
		if !errors.As(err, &invalid) || invalid.Status != http.StatusBadRequest ||
			!strings.HasPrefix(invalid.Text, "the expressions of keep take more than 100000000 steps in these texts") {
			t.Errorf("%.20q: %v", c[0], err)
		}
		took := fixtures.ProcessorTime() - began
		if took > most {
			t.Errorf("%.20q takes %v of a processor", c[0], took)
		}
		t.Logf("%.20q: %v", c[0], took)
	}
	p, taken := patterns(t, strings.Repeat(".*", 1000)+"z|a"), 0
	for ; taken < 100; taken++ { // the texts of a request together
		if _, err := p.In(t.Context(), strings.Repeat("a", 40)); err != nil {
			break
		}
	}
	if taken < 10 || taken == 100 {
		t.Errorf("%d texts are searched, of which each takes about 3 million steps", taken)
	}
}

// TestCancelled: a search ends where nobody waits for it any more.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	p := patterns(t, "a+", "b")
	if _, err := p.In(ctx, strings.Repeat("a", 1000)); err != gone || maxWork-p.left > 100 {
		t.Errorf("%v, after %d steps", err, maxWork-p.left)
	}
}
