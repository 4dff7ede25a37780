package tokenize

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// endsSentence reports whether the word after w starts a sentence.
func endsSentence(w string) bool { return w == "." || w == ":" || w == "?" || w == "!" }

// opensSentence reports whether w may stand before a sentence's first word.
func opensSentence(w string) bool {
	switch w {
	case "(", "[", `"`, "'", "&apos;", "&quot;", "&#91;", "&#93;":
		return true
	}
	return false
}

// TruecaserCounts counts words by their case, as Moses's train-truecaser does. It is not safe for concurrent use.
type TruecaserCounts struct {
	classes *classTable
	surface map[string]float64 // occurrences by exact form
}

// NewTruecaserCounts returns empty counts.
func NewTruecaserCounts() *TruecaserCounts {
	return &TruecaserCounts{classes: classes(), surface: make(map[string]float64)}
}

// Add counts the words of a tokenized line but those at the start of a sentence and those without case.
func (c *TruecaserCounts) Add(line string) {
	words, _ := splitMarkup(c.classes, line, false)
	start := 0
	for start < len(words) && opensSentence(words[start]) {
		start++
	}
	for i := start + 1; i < len(words); i++ {
		if word := words[i]; !endsSentence(words[i-1]) && c.hasCase(word) {
			if _, seen := c.surface[word]; !seen {
				word = strings.Clone(word) // a word must not keep its whole line alive
			}
			c.surface[word]++
		}
	}
}

// hasCase reports whether a letter of word is upper, lower or title case.
func (c *TruecaserCounts) hasCase(word string) bool {
	return strings.ContainsFunc(word, func(r rune) bool { return c.classes.of(r)&cased != 0 })
}

// Truecaser returns the model of the counts.
func (c *TruecaserCounts) Truecaser() *Truecaser {
	forms := make(map[string][]form)
	for word, count := range c.surface {
		key := Lowercase(word)
		forms[key] = append(forms[key], form{word, count})
	}
	for _, f := range forms {
		slices.SortFunc(f, func(a, b form) int {
			return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(b.word, a.word))
		})
	}
	return newTruecaser(forms)
}

// TrainTruecaser makes the model of a tokenized corpus, a sentence a line; name stands for r in errors. Of equally
// frequent forms the last in code point order is the best: lower case before capitals (Moses leaves this to chance).
func TrainTruecaser(r io.Reader, name string) (*Truecaser, error) {
	counts := NewTruecaserCounts()
	lines := NewLines(r, name)
	for lines.Next() {
		counts.Add(lines.Text())
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return counts.Truecaser(), nil
}

// form is one way of writing a word.
type form struct {
	word  string
	count float64 // whole, but for models of Moses that weigh some words by a tenth
}

// Truecaser gives words their usual case. It is immutable and safe for concurrent use.
type Truecaser struct {
	forms   map[string][]form // by lower-cased word, the best first
	best    map[string]string
	known   map[string]bool
	classes *classTable
}

func newTruecaser(forms map[string][]form) *Truecaser {
	t := &Truecaser{forms: forms, best: make(map[string]string), known: make(map[string]bool), classes: classes()}
	for key, f := range forms {
		t.best[key] = f[0].word
		for _, form := range f {
			t.known[form.word] = true
		}
	}
	return t
}

// WriteTo writes Moses's format, a line a word: the best form with (count/total), then the others with (count), in code
// point order of the lower-cased words (Moses's order is random).
func (t *Truecaser) WriteTo(w io.Writer) (int64, error) {
	buffered := bufio.NewWriter(w)
	var written int64
	write := func(parts ...string) {
		for _, part := range parts {
			n, _ := buffered.WriteString(part) // Flush returns the error
			written += int64(n)
		}
	}
	number := func(count float64) string { return strconv.FormatFloat(count, 'f', -1, 64) }
	for _, key := range slices.Sorted(maps.Keys(t.forms)) {
		forms := t.forms[key]
		total := 0.0
		for _, f := range forms {
			total += f.count
		}
		write(forms[0].word, " (", number(forms[0].count), "/", number(total), ")")
		for _, f := range forms[1:] {
			write(" ", f.word, " (", number(f.count), ")")
		}
		write("\n")
	}
	return written, buffered.Flush()
}

// ReadTruecaser reads a model in Moses's format; name stands for r in errors, which say the line.
func ReadTruecaser(r io.Reader, name string) (*Truecaser, error) {
	forms := make(map[string][]form)
	table := classes()
	lines := NewLines(r, name).Table()
	for lines.Next() {
		fields := table.fields(lines.Text())
		if len(fields) == 0 || len(fields)%2 != 0 {
			return nil, lines.Errorf("a line of a truecase model is \"word (count/total) other (count)\"; train the " +
				"model again")
		}
		var f []form
		for i := 0; i < len(fields); i += 2 {
			count, ok := parseCount(fields[i+1])
			if !ok {
				return nil, lines.Errorf("%.80q is not a count in parentheses; train the truecase model again",
					fields[i+1])
			}
			f = append(f, form{fields[i], count})
		}
		forms[Lowercase(fields[0])] = f
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return newTruecaser(forms), nil
}

// parseCount reads "(3)" or the first number of "(3/4)".
func parseCount(s string) (count float64, ok bool) {
	inside, opened := strings.CutPrefix(s, "(")
	inside, closed := strings.CutSuffix(inside, ")")
	number, _, _ := strings.Cut(inside, "/")
	count, err := strconv.ParseFloat(number, 64)
	return count, opened && closed && err == nil
}

// Truecase gives the first word of each sentence of a tokenized line its usual case, and words in an unseen form too.
// Words may carry factors behind a |; markup in < > is kept as Moses prints it.
func (t *Truecaser) Truecase(line string) string {
	words, markup := splitMarkup(t.classes, line, true)
	var b strings.Builder
	b.Grow(len(line))
	sentenceStart := true
	for i, word := range words {
		if i > 0 && markup[i] == "" {
			b.WriteByte(' ')
		}
		b.WriteString(markup[i])

		factors := ""
		if at := strings.IndexByte(word, '|'); at > 0 {
			word, factors = word[:at], word[at:]
		}
		written := word
		if sentenceStart || !t.known[word] {
			if best, ok := t.best[Lowercase(word)]; ok {
				written = best
			}
		}
		b.WriteString(written)
		b.WriteString(factors)
		sentenceStart = endsSentence(word) || sentenceStart && opensSentence(word)
	}
	b.WriteString(markup[len(words)])
	return b.String()
}

// Detruecase upper-cases the first character of each sentence, and joins words by single spaces.
func Detruecase(line string) string {
	words := classes().fields(line)
	sentenceStart := true
	for i, word := range words {
		if sentenceStart {
			word = uppercaseFirst(word)
			words[i] = word
		}
		sentenceStart = endsSentence(word) || sentenceStart && opensSentence(word)
	}
	return strings.Join(words, " ")
}

// splitMarkup splits a line into words and the markup in < > around them: markup[i] stands before words[i], the last
// after all. Every markup but the last ends in a space. With factors, a tag right behind a | is a factor of that word.
func splitMarkup(table *classTable, line string, factors bool) (words, markup []string) {
	if strings.IndexByte(line, '<') < 0 && strings.IndexByte(line, '>') < 0 {
		words = table.fields(line)
		return words, make([]string, len(words)+1)
	}
	isSpace := func(r rune) bool { return table.of(r)&whitespace != 0 }
	var last, tags []byte                                      // the last word, which factors make longer, and the markup behind it
	behind := len(line) - 1 - strings.LastIndexByte(line, '>') // the bytes behind which no tag ends
	for {
		trimmed := strings.TrimLeftFunc(line, isSpace)
		if trimmed == "" {
			break
		}
		end := 0
		if len(trimmed) > behind {
			end = tagEnd(table, trimmed)
		}
		if end > 0 {
			tag := trimmed[:end]
			joined := len(trimmed) == len(line)
			line = trimmed[end:]
			if factors && joined && bytes.HasSuffix(last, []byte("|")) {
				rest := strings.TrimLeft(line, "|")
				last = append(append(last, tag...), line[:len(line)-len(rest)]...)
				line = rest
			} else {
				tags = append(append(tags, tag...), ' ')
			}
			continue
		}
		end = strings.IndexFunc(trimmed, func(r rune) bool { return r == '<' || r == '>' || isSpace(r) })
		if end == 0 { // a bracket that is no tag: it takes all up to the next space
			end = strings.IndexFunc(trimmed, isSpace)
		}
		if end < 0 {
			end = len(trimmed)
		}
		if len(last) > 0 {
			words = append(words, string(last))
		}
		markup = append(markup, string(tags))
		last, tags = append(last[:0], trimmed[:end]...), tags[:0]
		line = trimmed[end:]
	}
	if len(last) > 0 {
		words = append(words, string(last))
	}
	return words, append(markup, strings.TrimSuffix(string(tags), " "))
}

// tagEnd returns the length of the tag that s starts with, or 0: a <, a character but a space (even a >, as in Moses),
// and all up to the next >.
func tagEnd(table *classTable, s string) int {
	if len(s) < 3 || s[0] != '<' || table.first(s[1:])&whitespace != 0 {
		return 0
	}
	_, size := utf8.DecodeRuneInString(s[1:])
	end := strings.IndexByte(s[1+size:], '>')
	if end < 0 {
		return 0
	}
	return 1 + size + end + 1
}
